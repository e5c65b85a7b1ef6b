"""Captions of pictures: name of the state, status unless ok, and time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

INK = (45, 50, 58)
PAPER = (255, 255, 255)


@dataclass(frozen=True)
class Caption:
    """Caption of a picture.

    Attributes:
        state: name of the FSM state.
        time: [s]; NaN for a picture of no time.
        status: shown in colour beside the state, unless empty.
        color: of the status, (3,) in [0, 1].
    """

    state: str
    time: float
    status: str = ""
    color: tuple[float, float, float] = (0.0, 0.0, 0.0)


def draw_caption(pixels: NDArray[np.uint8], caption: Caption) -> None:
    """Draw the caption into the lower corners of the image (h, w, 3)."""
    height, width, _ = pixels.shape
    size = max(10, round(height / 26))
    strip = pixels[-min(height, 6 * size) :]  # two lines and the margin
    picture = Image.fromarray(strip).convert("RGBA")
    layer = Image.new("RGBA", picture.size, (255, 255, 255, 0))
    draw = ImageDraw.Draw(layer)
    font = ImageFont.load_default(size)
    margin, bottom = round(0.9 * size), picture.height - round(0.9 * size)
    right = (
        _pill(draw, caption.state, font, left=margin, bottom=bottom, ink=INK, size=size) if caption.state else margin
    )
    if caption.status:
        ink = _bytes(caption.color)
        right = _pill(draw, caption.status, font, left=right + size // 3, bottom=bottom, ink=ink, size=size)
    if math.isfinite(caption.time):
        time = f"{caption.time:.2f} s"
        left = width - margin - draw.textlength(time, font=font) - size
        if left < right + size // 3:  # a long name in a small picture
            bottom -= 2 * size
        _pill(draw, time, font, left=round(left), bottom=bottom, ink=INK, size=size)
    strip[:] = np.asarray(Image.alpha_composite(picture, layer).convert("RGB"))


def _pill(
    draw: ImageDraw.ImageDraw,
    text: str,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    *,
    left: int,
    bottom: int,
    ink: tuple[int, int, int],
    size: int,
) -> int:
    """Draw text on a rounded background; return its right end [pixels]."""
    width, height = round(draw.textlength(text, font=font)) + size, round(1.7 * size)
    box = (left, bottom - height, left + width, bottom)
    draw.rounded_rectangle(box, radius=height // 2, fill=(*PAPER, 190))
    draw.text((left + width / 2, bottom - height / 2), text, font=font, fill=(*ink, 255), anchor="mm")
    return left + width


def _bytes(color: tuple[float, float, float]) -> tuple[int, int, int]:
    red, green, blue = (round(255 * channel) for channel in color)
    return red, green, blue
