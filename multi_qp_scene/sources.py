"""The files that a scenario is made from: noted while they are read, packed up, and read again from the pack."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from multi_qp_scene.errors import MultiQpError

#: Suffixes of files that are packed with their text; of others, meshes, only the checksum is.
_TEXTS = (".yaml", ".yml", ".urdf", ".xacro", ".xml")

_noted: ContextVar[list[Path] | None] = ContextVar("noted", default=None)
_unpacked: ContextVar[Path | None] = ContextVar("unpacked", default=None)


@dataclass(frozen=True)
class PackedFile:
    """One file of a scenario.

    Attributes:
        path: absolute, or from the folder of the project's data where it is shipped.
        shipped: whether it is.
        sha256: of its bytes.
        text: of it, None of a mesh.
    """

    path: str
    shipped: bool
    sha256: str
    text: str | None


@contextmanager
def noted_files() -> Iterator[list[Path]]:
    """Collect the files that are read meanwhile."""
    files: list[Path] = []
    token = _noted.set(files)
    try:
        yield files
    finally:
        _noted.reset(token)


def note(path: Path) -> None:
    """Tell that a file is read."""
    files = _noted.get()
    if files is not None and path not in files:
        files.append(path)


def unpacked_folder() -> Path | None:
    """Return the folder that stands in for the project's data while a pack is read."""
    return _unpacked.get()


def pack(files: tuple[Path, ...], shipped_in: tuple[Path, ...]) -> list[PackedFile]:
    """Return the files with their texts.

    Args:
        files: to pack.
        shipped_in: folders of the project's data.
    """
    packed = []
    for file in files:
        data, absolute = file.read_bytes(), file.absolute()
        root = next((folder for folder in shipped_in if absolute.is_relative_to(folder.absolute())), None)
        name = str(absolute if root is None else absolute.relative_to(root.absolute()))
        text = data.decode("utf-8-sig") if file.suffix.lower() in _TEXTS else None
        packed.append(PackedFile(name, root is not None, hashlib.sha256(data).hexdigest(), text))
    return packed


@contextmanager
def unpacked(files: list[PackedFile], shipped_in: tuple[Path, ...]) -> Iterator[Mapping[str, Path]]:
    """Lay packed files out in a folder of their own, where they are found before all others.

    Meshes are those of this machine.

    Args:
        files: as `pack` gave them.
        shipped_in: folders of the project's data on this machine.

    Yields:
        Where each file is now, by its packed path.

    Raises:
        MultiQpError: when a mesh is missing, or is not the one that was packed.
    """
    with tempfile.TemporaryDirectory(prefix="multi_qp_") as folder:
        root = Path(folder)
        places = {}
        for file in files:
            place = root / "data" / file.path if file.shipped else root / "files" / file.path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            places[file.path] = place
            if file.text is None:
                place.symlink_to(_checked_mesh(file, shipped_in))
            else:
                place.write_text(file.text, encoding="utf-8")
        token = _unpacked.set(root / "data")
        try:
            yield places
        finally:
            _unpacked.reset(token)


def _checked_mesh(file: PackedFile, shipped_in: tuple[Path, ...]) -> Path:
    candidates = [folder / file.path for folder in shipped_in] if file.shipped else [Path(file.path)]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise MultiQpError(f"the mesh {file.path} of the recording is not on this machine")
    if hashlib.sha256(found.read_bytes()).hexdigest() != file.sha256:
        raise MultiQpError(f"the mesh {file.path} is not the one of the recording: it has been changed since")
    return found.absolute()
