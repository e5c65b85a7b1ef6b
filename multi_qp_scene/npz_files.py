"""Safe reading of arrays from untrusted .npz files, within limits."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.files import open_regular

#: Kinds of dtype that are read: booleans, numbers, text; no objects, which would be unpickled.
_KINDS = "biufU"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(path: Path, names: Iterable[str], *, what: str, largest: int) -> dict[str, NDArray[Any]]:
    """Return arrays of an .npz file by name.

    Args:
        path: of the file.
        names: of the arrays; others in the file are not read.
        what: expected kind of file, for messages: "a log: expected ...".
        largest: their total size [B].

    Raises:
        MultiQpError: when the file cannot be read, is no .npz file, lacks an array, an array is damaged or holds
            objects, or they are larger than `largest`.
    """
    with open_regular(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, names, path, largest)
        except MultiQpError:
            raise
        except Exception as error:  # zipfile, its decompressors and the header parser raise exceptions of many types
            reason = str(error).partition("\n")[0][:200]
            raise MultiQpError(f"'{path}' is not {what} ({reason or type(error).__name__})") from None


def _read(archive: zipfile.ZipFile, names: Iterable[str], path: Path, largest: int) -> dict[str, NDArray[Any]]:
    arrays, left = {}, largest
    for name in names:
        try:
            member = archive.getinfo(f"{name}.npy")
        except KeyError:
            raise MultiQpError(f"'{path}' contains no '{name}'") from None
        left -= member.file_size  # no more than this is decompressed
        if left < 0:
            raise MultiQpError(f"'{path}' contains arrays of more than {largest / 1e6:.0f} MB")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name}: unknown compression")
        arrays[name] = _array(archive.read(member), name)
    return arrays


def _array(data: bytes, name: str) -> NDArray[Any]:
    """Return the array of an .npy file; its header is checked against the number of bytes."""
    file = io.BytesIO(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd headers
        shape, fortran, dtype = _HEADERS[npy.read_magic(file)](file)
    size = len(data) - file.tell()
    if dtype.kind not in _KINDS or min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{name}: {size} bytes do not match dtype {dtype} and shape {shape}")
    array: NDArray[Any] = np.frombuffer(data, dtype, offset=file.tell()) if size else np.zeros(shape, dtype)
    return array.reshape(shape, order="F" if fortran else "C").copy()
