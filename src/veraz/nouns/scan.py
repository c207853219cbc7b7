"""What an OCR engine sees in a picture. Places are in pixels, from the upper left corner, downwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
"""Shades of grey, shape (height, width): 0 is black, 255 white."""

Corner = tuple[float, float]


@dataclass(frozen=True, slots=True)
class SeenWord:
    """Characters without white space between them. `start` and `end`: how far along its line it begins and ends, from 0 to 1."""

    text: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class SeenLine:
    """Words that stand on one line, in the order in which they are read. `corners`: where its box begins above, ends above, ends
    below and begins below, as its own text runs. `confidence`: how sure the engine is of its characters, from 0 to 1."""

    words: tuple[SeenWord, ...]
    corners: tuple[Corner, Corner, Corner, Corner]
    confidence: float

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)
