"""Plots as SVG. Places along a plot are shares of its width, so that it fits any screen while its words keep their size.

Every plot is an image with a title and a description; beside it the page shows the same figures as a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veraz.evaluation.reporting.markup import Markup, element, joined, number, percent

LEFT, RIGHT = 0.09, 0.03
TOP, BOTTOM = 14, 34
"""The room around a plot: shares of its width, pixels of its height."""
FINE = 1000
"""Lines are drawn on a square of so many units that is stretched over the plot."""
COLOURS = 6
SHAPES = 4


@dataclass(frozen=True, slots=True)
class Line:
    """`points`: x and y, ascending in x. `marked` are drawn as points as well."""

    name: str
    points: tuple[tuple[float, float], ...]
    marked: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """`kind` numbers its colour and shape."""

    name: str
    x: float
    y: float
    kind: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Values between `low` and `high` as shares 0..1, evenly or by their logarithm."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at - low) / (high - low) if high > low else 0.5


def lines(
    title: str, series: Sequence[Line], *, x: Scale, y: Scale, x_ticks: Sequence[float],
    y_ticks: Sequence[float], x_name: str, height: int = 300,
) -> Markup:  # fmt: skip
    """A line for each series."""
    drawn = [_line(line, x, y, place) for place, line in enumerate(series)]
    inner = element(
        "svg", drawn, x=percent(LEFT), y=TOP, width=percent(1 - LEFT - RIGHT), height=height - TOP - BOTTOM,
        viewBox=f"0 0 {FINE} {FINE}", preserveAspectRatio="none", overflow="visible",
    )  # fmt: skip
    marks = [
        _mark(x.share(a), y.share(b), place, f"{line.name}: {b:.4f} at {number(a)}", height)
        for place, line in enumerate(series)
        for a, b in line.marked
    ]
    return _plot(title, [*_grid(x, y, x_ticks, y_ticks, x_name, height), inner, *marks], height)


def scatter(
    title: str, points: Sequence[Point], *, x: Scale, y: Scale, x_ticks: Sequence[float],
    y_ticks: Sequence[float], x_name: str, height: int = 300,
) -> Markup:  # fmt: skip
    """A named point for each."""
    marks = [
        joined(
            _mark(x.share(p.x), y.share(p.y), p.kind, f"{p.name}: {p.y:.4f} at {number(p.x)}", height),
            _label(p, x, y, height),
        )
        for p in points
    ]
    return _plot(title, [*_grid(x, y, x_ticks, y_ticks, x_name, height), *marks], height)


def columns(
    title: str, values: Sequence[tuple[str, float]], *, low: float, high: float, height: int = 220
) -> Markup:
    """A column for each value, in the given order, from 0 up or down. Few values do not become wide columns."""
    count = max(len(values), 40)
    scale = Scale(low, high)
    zero = 1 - scale.share(0.0)
    drawn = [_column(name, value, place, scale, zero) for place, (name, value) in enumerate(values)]
    inner = element(
        "svg", drawn, x=percent(LEFT), y=TOP, width=percent(1 - LEFT - RIGHT), height=height - 2 * TOP,
        viewBox=f"0 0 {count} {FINE}", preserveAspectRatio="none",
    )  # fmt: skip
    rules = [
        _rule(scale.share(value), f"{value:+.2f}" if low < 0 else f"{value:.2f}", height, TOP)
        for value in sorted({low, 0.0, high})
    ]
    return _plot(title, [*rules, inner], height)


def bar(title: str, value: float, most: float, kind: int, further: float | None = None) -> Markup:
    """One bar of a table: `value` of `most`, and paler up to `further`."""
    paler = _strip(further, most, kind, "paler") if further is not None else None
    return element(
        "svg", element("title", title), paler, _strip(value, most, kind, ""), class_="bar", width="100%", height=14,
        role="img", aria_label=title,
    )  # fmt: skip


def interval(title: str, low: float, middle: float, high: float, reach: float, kind: str) -> Markup:
    """An interval with its middle, on a scale from -reach to reach. `kind`: gain, loss or open."""
    scale = Scale(-reach, reach)
    at = {
        name: percent(scale.share(value))
        for name, value in (("low", low), ("middle", middle), ("high", high))
    }
    return element(
        "svg",
        element("title", title),
        element("line", x1="50%", x2="50%", y1=0, y2=22, class_="zero"),
        element("line", x1=at["low"], x2=at["high"], y1=11, y2=11, class_=f"span {kind}"),
        element("circle", cx=at["middle"], cy=11, r=4, class_=f"middle {kind}"),
        class_="interval", width="100%", height=22, role="img", aria_label=title,
    )  # fmt: skip


def swatch(kind: int) -> Markup:
    """The sign of a series in a legend: its colour, dashes and shape."""
    return element(
        "svg", element("line", x1=0, x2=26, y1=8, y2=8, class_=f"line k{kind % COLOURS}"), _shape("13", 8, kind, None),
        class_="swatch", width=26, height=16, aria_hidden="true",
    )  # fmt: skip


def _plot(title: str, content: Iterable[Markup], height: int) -> Markup:
    return element(
        "svg",
        element("title", title),
        *content,
        class_="plot",
        width="100%",
        height=height,
        role="img",
        aria_label=title,
    )


def _grid(
    x: Scale, y: Scale, x_ticks: Sequence[float], y_ticks: Sequence[float], x_name: str, height: int
) -> list[Markup]:
    floor = height - BOTTOM
    ruled = [_rule(y.share(value), _tick(value), height, BOTTOM) for value in y_ticks]
    ticks = [
        element(
            "text",
            number(value),
            x=percent(_across(x.share(value))),
            y=floor + 16,
            class_="tick",
            text_anchor="middle",
        )
        for value in x_ticks
    ]
    name = element("text", x_name, x=percent(1 - RIGHT), y=height - 3, class_="tick", text_anchor="end")
    return [*ruled, *ticks, name]


def _tick(value: float) -> str:
    """Two digits behind the point, or three where two would round."""
    shown = f"{value:.3f}"
    return shown[:-1] if shown.endswith("0") else shown


def _rule(share: float, label: str, height: int, bottom: int) -> Markup:
    at = TOP + (1 - share) * (height - TOP - bottom)
    return joined(
        element("line", x1=percent(LEFT), x2=percent(1 - RIGHT), y1=at, y2=at, class_="rule"),
        element("text", label, x=percent(LEFT - 0.01), y=at + 4, class_="tick", text_anchor="end"),
    )


def _line(line: Line, x: Scale, y: Scale, place: int) -> Markup:
    points = " ".join(
        f"{number(FINE * x.share(a))},{number(FINE * (1 - y.share(b)))}" for a, b in line.points
    )
    return element(
        "polyline", points=points, class_=f"line k{place % COLOURS}", vector_effect="non-scaling-stroke"
    )


def _column(name: str, value: float, place: int, scale: Scale, zero: float) -> Markup:
    top = 1 - scale.share(value)
    kind = "gain" if value > 0 else "loss" if value < 0 else "even"
    size = max(abs(zero - top), 0.008)
    return element(
        "rect", element("title", f"{name}: {value:+.4f}"), x=float(place) + 0.08, width=0.84, y=FINE * min(zero, top),
        height=FINE * size, class_=kind,
    )  # fmt: skip


def _mark(across: float, up: float, kind: int, title: str, height: int) -> Markup:
    return _shape(percent(_across(across)), TOP + (1 - up) * (height - TOP - BOTTOM), kind, title)


def _shape(x: str, y: float, kind: int, title: str | None) -> Markup:
    """A circle, square, diamond or triangle: colour alone does not tell series apart."""
    named = element("title", title) if title else None
    style = f"mark k{kind % COLOURS}"
    if kind % SHAPES == 0:
        return element("circle", named, cx=x, cy=float(y), r=4.5, class_=style)
    path = ("M-4 -4H4V4H-4Z", "M0 -5.5L5.5 0L0 5.5L-5.5 0Z", "M0 -5L5 4H-5Z")[kind % SHAPES - 1]
    return element("svg", named, element("path", d=path, class_=style), x=x, y=float(y), overflow="visible")


def _label(point: Point, x: Scale, y: Scale, height: int) -> Markup:
    share = x.share(point.x)
    side, by = ("end", -9) if share > 0.6 else ("start", 9)
    at = TOP + (1 - y.share(point.y)) * (height - TOP - BOTTOM)
    return element(
        "text", point.name, x=percent(_across(share)), y=at + 4, dx=by, class_="label", text_anchor=side
    )


def _strip(value: float, most: float, kind: int, paler: str) -> Markup:
    share = min(max(value / most, 0.0), 1.0) if most > 0 else 0.0
    return element(
        "rect",
        x=0,
        y=1,
        height=12,
        rx=2,
        width=percent(share),
        class_=f"fill k{kind % COLOURS} {paler}".strip(),
    )


def _across(share: float) -> float:
    return LEFT + share * (1 - LEFT - RIGHT)
