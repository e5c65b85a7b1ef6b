"""Video encoding with the ffmpeg of imageio-ffmpeg."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

FORMATS = (".mp4", ".gif")
GIF_COLORS = 96
# One palette for all pictures, ordered dithering (stable between frames), and only the changed rectangle.
GIF_FILTER = (
    f"split[a][b];[a]palettegen=max_colors={GIF_COLORS}:stats_mode=full[p];"
    "[b][p]paletteuse=dither=bayer:bayer_scale=5:diff_mode=rectangle"
)


def check_format(path: Path, *, width: int, height: int) -> Path:
    """Return the path if it can be written as a video.

    Raises:
        ValueError: for an unknown suffix, a missing folder, or a size that mp4 does not allow.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"cannot write {path.name!r}: a video ends in {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path.name!r}: there is no folder {str(path.parent)!r}")
    if suffix == ".mp4" and (width % 2 or height % 2):
        raise ValueError(f"an mp4 needs an even width and height, not {width} x {height}")
    return path


def encode(path: Path, pictures: Iterator[NDArray[np.uint8]], *, fps: float, width: int, height: int) -> None:
    """Write the pictures, each (height, width, 3), to an .mp4 (h264, yuv420p) or a looping .gif.

    Raises:
        OSError: the file cannot be written.
    """
    import imageio_ffmpeg

    if path.suffix.lower() == ".mp4":
        output = ["-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-preset", "medium"]
        output += ["-movflags", "+faststart"]
    else:
        output = ["-vcodec", "gif", "-pix_fmt", "pal8", "-filter_complex", GIF_FILTER]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", str(Fraction(fps).limit_denominator()), "-i", "-", "-an"]
    with tempfile.TemporaryFile() as errors:
        ffmpeg = subprocess.Popen([*command, *output, str(path)], stdin=subprocess.PIPE, stderr=errors)
        assert ffmpeg.stdin is not None
        try:
            with suppress(BrokenPipeError), ffmpeg.stdin as pipe:  # the reason is read from its standard error
                for picture in pictures:
                    pipe.write(np.ascontiguousarray(picture).data)
            if ffmpeg.wait():
                raise OSError(_reason(errors))
        finally:
            ffmpeg.kill()
            ffmpeg.wait()


def _reason(errors: IO[bytes]) -> str:
    """Return the reason from ffmpeg's standard error: the end of its first line."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines()
    return lines[0].rpartition(": ")[2] if lines else "ffmpeg failed"
