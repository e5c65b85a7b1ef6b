"""Embree's C interface: scenes of triangles, and the functions by which compiled kernels cast rays.

The library is the one that the package embreex contains. The package's own interface converts every coordinate to a
Python number, which takes two to three times as long as building the acceleration structure.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any

import embreex.rtcore_scene
import numpy as np
from numpy.typing import NDArray

from multi_qp_scene.jit import external

_LIBRARY = ctypes.CDLL(embreex.rtcore_scene.__file__)  # finds functions in the libraries that it is linked to
# RTCBufferType, RTCFormat (three of these numbers) and the number.
_INDEX, _VERTEX = (0, 0x5003, np.uint32), (1, 0x9003, np.float32)
_TRIANGLES = 0  # RTCGeometryType


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_LIBRARY, name)
    function.restype, function.argtypes = result, arguments
    return function


_P, _U, _N = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
_new_device = _function("rtcNewDevice", _P, ctypes.c_char_p)
_new_scene = _function("rtcNewScene", _P, _P)
_new_geometry = _function("rtcNewGeometry", _P, _P, _U)
_new_buffer = _function("rtcSetNewGeometryBuffer", _P, _P, _U, _U, _U, _N, _N)
_commit_geometry = _function("rtcCommitGeometry", None, _P)
_attach = _function("rtcAttachGeometry", _U, _P, _P)
_release_geometry = _function("rtcReleaseGeometry", None, _P)
_commit_scene = _function("rtcCommitScene", None, _P)
_release_scene = _function("rtcReleaseScene", None, _P)

#: For kernels: (address of the scene, address of an RTCRayHit or RTCRay, 0).
intersect = external(_function("rtcIntersect1", None, _N, _N, _N))
occluded = external(_function("rtcOccluded1", None, _N, _N, _N))


@cache
def _device() -> int:
    device = _new_device(None)
    if device is None:
        raise RuntimeError("Embree cannot be started on this machine")
    return int(device)


class TriangleScene:
    """Triangles with their acceleration structure.

    Attributes:
        address: of the scene, for `intersect` and `occluded`.
    """

    def __init__(self, vertices: NDArray[np.float32], faces: NDArray[np.integer[Any]]) -> None:
        """Build the acceleration structure of triangles with vertices (n, 3) [m] and faces (m, 3)."""
        self.address: int = _new_scene(_device())
        weakref.finalize(self, _release_scene, self.address)
        geometry = _new_geometry(_device(), _TRIANGLES)
        for (kind, form, dtype), values in ((_VERTEX, vertices), (_INDEX, faces)):
            rows = np.ascontiguousarray(values, dtype=dtype)
            buffer = _new_buffer(geometry, kind, 0, form, rows.strides[0], len(rows))
            ctypes.memmove(buffer, rows.ctypes.data, rows.nbytes)
        _commit_geometry(geometry)
        _attach(self.address, geometry)
        _release_geometry(geometry)
        _commit_scene(self.address)
