"""What ink in a picture shows besides characters: ruled lines, and how large and how heavy a line of text is. Pure numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veraz.nouns.scan import Picture

Ink = npt.NDArray[np.bool_]
"""Where a picture is dark, shape (height, width)."""


def ink_of(picture: Picture, pale: float = 0.0) -> Ink:
    """Dark pixels, by the threshold that parts the two kinds best (Otsu 1979); none in a picture of one shade. `pale`: how far
    the threshold is moved towards the usual shade of the paper, 0 to 1."""
    counts = np.bincount(picture.ravel(), minlength=256).astype(float)
    shades = np.arange(256)
    below = np.cumsum(counts)
    above = below[-1] - below
    mass = np.cumsum(counts * shades)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = below * above * (mass / below - (mass[-1] - mass) / above) ** 2
    apart = np.nan_to_num(apart)
    if apart.max() <= 0:
        return np.zeros(picture.shape, dtype=bool)
    # With nothing between the two kinds every shade there parts them equally well: the middle one is taken.
    best = np.flatnonzero(apart >= apart.max() * (1 - 1e-9))
    threshold = int(best[len(best) // 2])
    paper = threshold + int(counts[threshold:].argmax())
    threshold += round(pale * (paper - threshold))
    dark: Ink = picture <= threshold
    return dark


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight line in pixels: across at `at` down the picture from `low` to `high`, or down at `at`."""

    across: bool
    at: float
    low: float
    high: float


def strokes_of(ink: Ink, across: int, down: int, thick: int, slope: float = 0.0) -> list[Stroke]:
    """Lines at least `across` or `down` pixels long and at most `thick` wide. `slope`: pixels that lines fall by for each pixel
    to the right, in a picture that lies askew; the places given are those after it is set straight, turned about its origin."""
    found = [Stroke(True, at, low, high) for at, low, high in _runs(straightened(ink, slope), across, thick)]
    upright = straightened(np.ascontiguousarray(ink.T), -slope)
    found += [Stroke(False, at, low, high) for at, low, high in _runs(upright, down, thick)]
    return found


def straightened(ink: Ink, slope: float) -> Ink:
    """Each column moved up by its share of the slope."""
    if abs(slope) * ink.shape[1] < 1:
        return ink
    straight = np.zeros_like(ink)
    height = ink.shape[0]
    for x in range(ink.shape[1]):
        by = round(x * slope)
        if by >= 0:
            straight[: height - by or None, x] = ink[by:, x]
        else:
            straight[-by:, x] = ink[:by, x]
    return straight


def _runs(ink: Ink, least: int, thick: int) -> Iterator[tuple[float, float, float]]:
    """Lines across: their middle, where they begin and where they end."""
    near = ink.copy()  # a line that wavers by a pixel is one line
    near[1:] |= ink[:-1]
    near[:-1] |= ink[1:]
    edges = np.diff(near.astype(np.int8), axis=1, prepend=0, append=0)
    rows, starts = np.nonzero(edges == 1)
    _, ends = np.nonzero(edges == -1)
    long = ends - starts >= least
    open_: list[list[int]] = []  # first row, last row, start, end
    for y, x0, x1 in zip(rows[long].tolist(), starts[long].tolist(), ends[long].tolist(), strict=True):
        yield from _closed(open_, y, thick)
        for line in open_:
            if x0 <= line[3] and line[2] <= x1:
                line[1], line[2], line[3] = y, min(line[2], x0), max(line[3], x1)
                break
        else:
            open_.append([y, y, x0, x1])
    yield from _closed(open_, ink.shape[0] + 2, thick)


def _closed(open_: list[list[int]], y: int, thick: int) -> Iterator[tuple[float, float, float]]:
    for line in [line for line in open_ if line[1] < y - 1]:
        open_.remove(line)
        if line[1] - line[0] + 1 <= thick + 2:
            yield (line[0] + line[1] + 1) / 2, float(line[2]), float(line[3])


@dataclass(frozen=True, slots=True)
class Look:
    """How a line of text looks, in pixels of its strip: where its ink begins and ends, and the usual width of a stroke."""

    top: float
    bottom: float
    stroke: float


def look_of(strip: Ink, margin: int, least: int) -> Look | None:
    """None where the strip does not look like a line of text on a plain ground. It holds a box and a margin above and below that
    ink may reach into: up to a gap, behind which it belongs to the neighbours. Rows of fewer than `least` pixels are a gap."""
    if strip.size == 0:
        return None
    profile = (strip[:, 1:] & strip[:, :-1]).sum(axis=1)  # pixels side by side: one alone is a speck
    height = len(profile) - 2 * margin
    core = slice(margin + height // 4, margin + max(1, 3 * height // 4))
    if height <= 0 or profile[core].max() < 2:
        return None
    middle = core.start + int(profile[core].argmax())
    empty = np.flatnonzero(profile < least)
    above, below = empty[empty < middle], empty[empty > middle]
    top = int(above[-1]) + 1 if len(above) else margin
    bottom = int(below[0]) if len(below) else len(profile) - margin
    if bottom - top < 0.3 * height:
        return None
    runs = np.diff(strip[top:bottom].astype(np.int8), axis=1, prepend=0, append=0).ravel()
    lengths = np.flatnonzero(runs == -1) - np.flatnonzero(runs == 1)
    return Look(float(top), float(bottom), float(lengths[lengths <= 2 * np.median(lengths)].mean()))
