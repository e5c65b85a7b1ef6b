"""Pictures to video files, with the ffmpeg that imageio-ffmpeg brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FORMATS = (".mp4", ".gif")
GIF_COLORS = 96
# One palette for all pictures, ordered dithering (it does not crawl), and only the rectangle that changed.
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
    """Write the pictures, each (height, width, 3), to an .mp4 (h264, yuv420p) or a looping .gif."""
    import imageio_ffmpeg

    if path.suffix.lower() == ".mp4":
        options = {
            "codec": "libx264",
            "pix_fmt_out": "yuv420p",
            "output_params": ["-crf", "20", "-preset", "medium", "-movflags", "+faststart"],
        }
    else:
        options = {"codec": "gif", "pix_fmt_out": "pal8", "output_params": ["-filter_complex", GIF_FILTER]}
    writer = imageio_ffmpeg.write_frames(
        str(path),
        (width, height),
        fps=fps,
        macro_block_size=1,
        quality=None,
        ffmpeg_log_level="error",
        **options,
    )
    writer.send(None)
    try:
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture))
    finally:
        writer.close()
