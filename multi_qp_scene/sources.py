"""Source files of a scenario: recorded while they are read, packed, and read from the pack."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from multi_qp_scene.errors import MultiQpError

#: Suffixes of files that are packed with their text; of other files (meshes) only the checksum is packed.
_TEXTS = (".yaml", ".yml", ".urdf", ".xacro", ".srdf", ".xml")

#: Limits of a pack: number of files, folders in a path, characters of all texts, size of a mesh [B].
_MOST_FILES, _DEEPEST, _MOST_TEXT, _LARGEST_MESH = 2000, 64, 64_000_000, 1 << 30

_noted: ContextVar[list[Path] | None] = ContextVar("noted", default=None)
_unpacked: ContextVar[_Unpacked | None] = ContextVar("unpacked", default=None)


@dataclass(frozen=True)
class _Unpacked:
    """An unpacked pack: its folder, and the meshes outside of it that are targets of its symbolic links."""

    root: Path
    meshes: frozenset[Path]

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def files(self) -> Path:
        return self.root / "files"


@dataclass(frozen=True)
class PackedFile:
    """One file of a scenario.

    Attributes:
        path: absolute, or relative to the folder of the project's data for a shipped file; without "..".
        shipped: whether the file is shipped with the project.
        sha256: checksum of its bytes.
        text: its text, None for a mesh.
    """

    path: str
    shipped: bool
    sha256: str
    text: str | None


@contextmanager
def noted_files() -> Iterator[list[Path]]:
    """Context that collects the files that are read in it."""
    files: list[Path] = []
    token = _noted.set(files)
    try:
        yield files
    finally:
        _noted.reset(token)


def note(path: Path) -> None:
    """Record that a file is read.

    Raises:
        MultiQpError: while a pack is read, when the file is not part of it.
    """
    pack = _unpacked.get()
    if pack is not None:
        real = path.resolve()
        if not real.is_relative_to(pack.root) and real not in pack.meshes:
            raise MultiQpError(f"the file {path} is not in the recording")
    files = _noted.get()
    if files is not None and path not in files:
        files.append(path)


def unpacked_folder() -> Path | None:
    """Return the folder that replaces the project's data while a pack is read, else None."""
    pack = _unpacked.get()
    return None if pack is None else pack.data


def packed_path(path: Path) -> Path:
    """Return the path from which a file is read: while a pack is read, the one in the pack, else the path itself."""
    pack = _unpacked.get()
    if pack is None:
        return path
    # paths are packed without "..", and some after symbolic links were resolved
    for absolute in (Path(os.path.abspath(path)), path.resolve()):
        inside = absolute.is_relative_to(pack.root)
        place = absolute if inside else pack.files / absolute.relative_to(absolute.anchor)
        if place.exists():
            break
    return place


def pack(files: tuple[Path, ...], shipped_in: tuple[Path, ...]) -> list[PackedFile]:
    """Return the files with their texts.

    Args:
        files: to pack.
        shipped_in: folders of the project's data.
    """
    packed = []
    for file in files:
        data, absolute = file.read_bytes(), Path(os.path.abspath(file))
        root = next((folder for folder in shipped_in if absolute.is_relative_to(folder.absolute())), None)
        name = str(absolute if root is None else absolute.relative_to(root.absolute()))
        text = data.decode("utf-8-sig") if file.suffix.lower() in _TEXTS else None
        packed.append(PackedFile(name, root is not None, hashlib.sha256(data).hexdigest(), text))
    return packed


@contextmanager
def unpacked(files: list[PackedFile], shipped_in: tuple[Path, ...]) -> Iterator[Mapping[str, Path]]:
    """Write packed files to a private temporary folder; until the end of the context, only they can be read.

    A pack is untrusted: paths that leave the folder are refused, and no file is replaced. Meshes are those of this
    machine, read through symbolic links after comparison of their checksums.

    Args:
        files: result of `pack`.
        shipped_in: folders of the project's data on this machine.

    Yields:
        The present path of each file, by its packed path.

    Raises:
        MultiQpError: when a path is not allowed or appears twice, the pack is too large or cannot be written, or a mesh
            is missing or has another checksum.
    """
    if len(files) > _MOST_FILES or sum(len(file.text or "") for file in files) > _MOST_TEXT:
        raise MultiQpError(f"the recording contains more than {_MOST_FILES} files or {_MOST_TEXT / 1e6:g} MB of text")
    with tempfile.TemporaryDirectory(prefix="multi_qp_") as folder:
        pack, places, meshes = _Unpacked(Path(folder).resolve(), frozenset()), {}, set()
        for file in files:
            place = _place(file, pack)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                if file.text is None:
                    mesh = _checked_mesh(file, shipped_in)
                    place.symlink_to(mesh)
                    meshes.add(mesh)
                else:
                    with place.open("x", encoding="utf-8", newline="") as copy:
                        copy.write(file.text)
            except FileExistsError:
                raise MultiQpError(f"the file {file.path} appears twice in the recording") from None
            except (OSError, ValueError) as error:  # ValueError: text that is not Unicode
                reason = getattr(error, "strerror", None) or error
                raise MultiQpError(f"the file {file.path} of the recording cannot be unpacked: {reason}") from None
            places[file.path] = place
        token = _unpacked.set(_Unpacked(pack.root, frozenset(meshes)))
        try:
            yield places
        finally:
            _unpacked.reset(token)


def _place(file: PackedFile, pack: _Unpacked) -> Path:
    """Return the path to which a packed file is written.

    Raises:
        MultiQpError: when its path is not absolute, or for a shipped file not relative.
    """
    path = Path(file.path)
    folder = pack.data if file.shipped else pack.files
    place = folder / path.relative_to(path.anchor)
    plain = path.is_absolute() is not file.shipped and path.name and ".." not in path.parts and "\0" not in file.path
    if not plain or len(path.parts) > _DEEPEST or not place.is_relative_to(folder):
        expected = "a path in the project's data" if file.shipped else "an absolute path"
        raise MultiQpError(f"the recording contains a file with the path {file.path[:200]!r}, expected {expected}")
    return place


def _checked_mesh(file: PackedFile, shipped_in: tuple[Path, ...]) -> Path:
    candidates = [folder / file.path for folder in shipped_in] if file.shipped else [Path(file.path)]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise MultiQpError(f"the mesh {file.path} of the recording is not on this machine")
    status = found.stat()
    # pseudo-files, as those of /proc, have no size
    if not (stat.S_ISREG(status.st_mode) and 0 < status.st_size <= _LARGEST_MESH):
        raise MultiQpError(f"{file.path} of the recording is not a mesh of at most {_LARGEST_MESH >> 20} MB")
    with found.open("rb") as data:
        checksum = hashlib.file_digest(data, "sha256").hexdigest()
    if checksum != file.sha256:
        raise MultiQpError(f"the mesh {file.path} is not the one of the recording: it has been changed since")
    return found.resolve()
