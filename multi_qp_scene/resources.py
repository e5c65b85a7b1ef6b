"""Resolution of shipped data files and of files referenced by a URDF."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from multi_qp_scene.errors import MultiQpError, shown_path
from multi_qp_scene.files import exists, is_dir, is_file
from multi_qp_scene.sources import packed_path, unpacked_folder
from multi_qp_scene.suggestions import shortened, unknown_name

PACKAGE_NAME = "multi_qp_controller"
_SUFFIXES = (".yaml", ".yml")
_SOURCE_ROOT = Path(__file__).resolve().parents[1]


def resource_dirs() -> tuple[Path, ...]:
    """Return the existing folders that contain `urdf/`, `config/` and `launch/`, in order of precedence.

    They are the ament share of a ROS workspace, the share folder of an installed package, and the source tree; while
    the files of a recording are read, only the recording's folder.
    """
    recorded = unpacked_folder()
    candidates = [recorded] if recorded is not None else [*_ament_share(), *_installed_share(), *_source_tree()]
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def find_resource(name: str) -> Path:
    """Return the shipped file or folder of that name, for example `urdf/humanoid.urdf`.

    Raises:
        MultiQpError: it does not exist; lists the files of the same folder, or the searched folders.
    """
    folders = resource_dirs()
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    relative = Path(name)
    siblings = [
        str(relative.with_name(path.name))
        for folder in folders
        for path in sorted((folder / relative.parent).glob(f"*{relative.suffix}"))
    ]
    if siblings:
        raise MultiQpError(unknown_name("file", name, siblings))
    raise MultiQpError(f"the file {name!r} is not among the installed data; {_looked_in(folders)}")


def scenario_names() -> list[str]:
    """Return the names of the shipped scenarios, sorted."""
    return _names("config/scenarios")


def scenario_path(name_or_path: str | Path) -> Path:
    """Return the file of a scenario.

    Args:
        name_or_path: a shipped scenario's name, or a path: anything with `.yaml` or a separator.

    Raises:
        MultiQpError: no such scenario or file.
    """
    return _configuration("scenario", "config/scenarios", name_or_path, Path())


def template_path(name: str) -> Path:
    """Return the file of a template of scenario files.

    Raises:
        MultiQpError: no such template; lists the others.
    """
    names = _names("config/templates")
    if name not in names:
        raise MultiQpError(unknown_name("template", name, names))
    return find_resource(f"config/templates/{name}.yaml")


def model_path(name_or_path: str | Path, *, relative_to: Path | None = None) -> Path:
    """Return the file of a model.

    Args:
        name_or_path: a shipped model's name, or a path: anything with `.yaml` or a separator.
        relative_to: the folder that relative paths start from; the working directory by default.

    Raises:
        MultiQpError: no such model or file.
    """
    return _configuration("model", "config/models", name_or_path, relative_to or Path())


def sequence_names() -> list[str]:
    """Return the names of the shipped contact sequences, sorted."""
    return _names("config/sequences")


def sequence_path(name_or_path: str | Path) -> Path:
    """Return the file of a contact sequence.

    Args:
        name_or_path: a shipped sequence's name, or a path: anything with `.yaml` or a separator.

    Raises:
        MultiQpError: no such sequence or file.
    """
    return _configuration("sequence", "config/sequences", name_or_path, Path())


def resolve_uri(uri: str, relative_to: Path | None = None) -> Path:
    """Return the file that a URDF names: `package://<package>/...`, `file://...`, or a plain path.

    Packages are searched in this project's data, ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, among the folders around
    `relative_to`, and in the share folders of this Python installation.

    Args:
        uri: the name as it stands in the URDF.
        relative_to: the folder that relative paths start from, usually the URDF's.

    Raises:
        MultiQpError: no such file, no such package or an unknown scheme.
    """
    start = relative_to or Path()
    scheme, separator, rest = uri.partition("://")
    candidates: Iterable[Path]
    package = ""
    if not separator:
        candidates = [start / uri]
    elif scheme == "file":
        candidates = [start / name for name in (rest, unquote(rest.removeprefix("localhost")))]
    elif scheme == "package":
        package, _, name = rest.lstrip("/").partition("/")  # some exporters write package:///...
        # lazily: usually the first folder has the package, and there are many folders
        candidates = (folder / each for folder in _package_folders(package, start) for each in (name, unquote(name)))
    else:
        raise MultiQpError(
            f"{shortened(uri, 200)!r} starts with {shortened(scheme)}://, expected package://, file:// or a path"
        )
    tried = []
    for candidate in map(packed_path, candidates):
        if exists(candidate):
            return candidate.resolve()
        tried.append(candidate)
    if scheme == "package" and not tried:
        raise MultiQpError(_unknown_package(uri, package))
    places = ", ".join(dict.fromkeys(shortened(shown_path(candidate), 200) for candidate in tried))
    raise MultiQpError(f"{shortened(uri, 200)!r} does not exist (looked for {places})")


def _configuration(kind: str, folder: str, name_or_path: str | Path, relative_to: Path) -> Path:
    text = str(name_or_path)
    if not (isinstance(name_or_path, Path) or text.endswith(_SUFFIXES) or "/" in text or os.sep in text):
        names = _names(folder)
        if text not in names and is_dir(relative_to / text):
            raise MultiQpError(f"{shown_path(relative_to / text)}: this is a folder")
        if text not in names:
            raise MultiQpError(unknown_name(kind, text, names))
        return find_resource(f"{folder}/{text}.yaml")
    try:
        path = packed_path(relative_to / Path(text).expanduser())
    except RuntimeError:
        raise MultiQpError(f"{text}: there is no such user, or it has no home folder") from None
    if is_file(path):
        return path
    reason = "this is a folder" if is_dir(path) else "not a regular file" if exists(path) else "no such file"
    known = Path(text).stem in _names(folder)
    hint = f"; did you mean the shipped {kind} {Path(text).stem!r}?" if known else ""
    raise MultiQpError(f"{shortened(shown_path(path), 200)}: {reason}{hint}")


def _names(folder: str) -> list[str]:
    return sorted({path.stem for root in resource_dirs() for path in (root / folder).glob("[!.]*.yaml")})


def ros_package_share(package: str) -> Path | None:
    """Return the share folder of a package in the sourced ROS workspaces; None where there is none."""
    try:
        from ament_index_python.packages import get_package_share_directory
    except ImportError:
        return None
    try:
        return Path(get_package_share_directory(package))
    except (LookupError, OSError, ValueError):  # not in the sourced workspaces; none is sourced; no valid name
        return None


def _ament_share() -> Iterator[Path]:
    share = ros_package_share(PACKAGE_NAME)
    if share is not None:
        yield share


def _installed_share() -> Iterator[Path]:
    """Yield `<prefix>/share/<package>` for each parent folder of this package as a prefix."""
    if not list(_source_tree()):
        yield from (parent / "share" / PACKAGE_NAME for parent in _SOURCE_ROOT.parents)
        yield _SOURCE_ROOT / "share" / PACKAGE_NAME  # pip install --target


def _source_tree() -> Iterator[Path]:
    if (_SOURCE_ROOT / "package.xml").is_file():
        yield _SOURCE_ROOT


def _package_folders(package: str, start: Path) -> Iterator[Path]:
    if package == PACKAGE_NAME:
        yield from resource_dirs()
    around = [start.absolute(), *start.absolute().parents]
    shares = chain(
        (Path(entry) for entry in _path_variable("ROS_PACKAGE_PATH")),
        (Path(entry) / "share" for entry in _path_variable("AMENT_PREFIX_PATH")),
        around,
        [Path(sys.prefix) / "share"],
        (Path(entry) / "cmeel.prefix" / "share" for entry in sys.path),  # robot models installed by pip
    )
    for share in shares:
        for folder in (share, share / package):
            if folder.name == package and is_dir(folder):
                yield folder


def _unknown_package(uri: str, package: str) -> str:
    hint = "set ROS_PACKAGE_PATH to the folder that contains it"
    return f"{shortened(uri, 200)!r}: the package {shortened(package)!r} was not found; {hint}"


def _path_variable(name: str) -> list[str]:
    return [entry for entry in os.environ.get(name, "").split(os.pathsep) if entry]


def _looked_in(folders: tuple[Path, ...]) -> str:
    return f"looked in {', '.join(map(shown_path, folders))}" if folders else "no data folder was found"
