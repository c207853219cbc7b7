"""Numbers as a sheet shows them, by their number format (ECMA-376 part 1, 18.8.30).

Dates are written as ISO 8601 with the precision that the format shows, because 3/4/24 means two days: a format of month and
year gives 2024-04.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm", 37: "#,##0;-#,##0", 38: "#,##0;-#,##0", 39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss", 48: "0.0E+0", 49: "@",
}  # fmt: skip
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.')
_BRACKET = re.compile(r"\[[^\]]*\]")
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
_DATE_SIGNS = re.compile(r"[ymdhs]|AM/PM|A/P", re.I)
_PLACES = re.compile(r"[0#?][0#?,]*(?:\.[0#?]*)?,*|\.[0#?]+,*")
_GENERAL = re.compile("general", re.I)
_CURRENCY = re.compile(r"\[\$([^\]\-]*)(?:-[^\]]*)?\]")


def shown(value: float, code: str, *, since_1904: bool = False) -> str:
    """A number in a cell of that format code; "" and "General" show it as it is."""
    if not math.isfinite(value):
        return str(value)
    if _elapsed(code) or is_date(code):
        return _moment(value, code, since_1904) or plain(value)
    section, value = _section(code, value)
    if not section or section.strip().lower() in ("general", "@"):
        return plain(value)
    return _number(value, section)


@lru_cache(maxsize=1024)
def is_date(code: str) -> bool:
    bare = _BRACKET.sub("", _LITERAL.sub("", code.split(";")[0]))
    return "general" not in bare.lower() and bool(
        _DATE_SIGNS.search(bare.replace("E+", "").replace("E-", ""))
    )


def plain(value: float) -> str:
    """Without the noise of binary fractions: 0.1 + 0.2 is 0.3."""
    digits = Decimal(f"{value:.15g}")
    exponent = digits.adjusted()
    if not -10 <= exponent <= 20:
        return f"{value:.15g}".replace("e", "E")
    text = f"{digits:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _section(code: str, value: float) -> tuple[str, float]:
    """The part of a format for this sign; a part of its own for negatives writes their sign itself."""
    parts = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', code)
    if value < 0 and len(parts) > 1 and parts[1]:
        return parts[1], -value
    if value == 0 and len(parts) > 2:
        return parts[2], value
    return parts[0], value


def _number(value: float, section: str) -> str:
    section = _CURRENCY.sub(lambda m: f'"{m[1]}"', section)
    section = _BRACKET.sub("", section)
    bare = _LITERAL.sub(lambda m: "\x00" * len(m[0]), section)
    if general := _GENERAL.search(bare):
        return f"{_literal(section[: general.start()])}{plain(value)}{_literal(section[general.end() :])}".strip()
    places = _PLACES.search(bare)
    if places is None:
        return _literal(section).strip()
    if "/" in bare[places.start() :]:
        return _fraction(value)
    if science := re.search(r"E[+-]0+", bare):
        return _scientific(value, places[0], science[0])
    end = places.end()
    text = _digits(value * (100 if "%" in bare else 1), places[0])
    return f"{_literal(section[: places.start()])}{text}{_literal(section[end:])}".strip()


def _literal(text: str) -> str:
    """What a format writes beside the figures: quoted words, units, signs."""
    return _LITERAL.sub(lambda m: {'"': m[0].strip('"'), "\\": m[0][1:]}.get(m[0][0], " "), text).replace(
        "@", ""
    )


def _digits(value: float, places: str) -> str:
    scale = len(places) - len(places.rstrip(","))
    whole, _, decimals = places.rstrip(",").partition(".")
    exact = Decimal(repr(value)) / (Decimal(1000) ** scale)
    rounded = exact.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP) if abs(exact) < 1e20 else exact
    text = f"{rounded:,f}" if "," in whole else f"{rounded:f}"
    optional = len(decimals) - len(decimals.rstrip("#?"))
    for _ in range(optional):
        text = text[:-1] if "." in text and text.endswith("0") else text
    least = whole.count("0")
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    head, dot, tail = digits.rstrip(".").partition(".") if optional else digits.partition(".")
    return f"{sign}{head.rjust(least, '0')}{dot}{tail}"


def _scientific(value: float, places: str, science: str) -> str:
    decimals = len(places.partition(".")[2])
    mantissa, _, exponent = f"{value:.{decimals}E}".partition("E")
    sign = exponent[0] if exponent[0] == "-" or "+" in science else ""
    return f"{mantissa}E{sign}{exponent[1:].rjust(science.count('0'), '0')}"


def _fraction(value: float) -> str:
    whole, rest = divmod(abs(value), 1)
    part = Fraction(rest).limit_denominator(99)
    if part == 1:
        whole, part = whole + 1, Fraction(0)
    text = " ".join(filter(None, (f"{whole:.0f}" if whole or not part else "", str(part) if part else "")))
    return f"-{text}" if value < 0 else text


# Dates and times


def _elapsed(code: str) -> bool:
    return bool(_ELAPSED.search(code))


def _moment(value: float, code: str, since_1904: bool) -> str | None:
    """None for a number that is no date."""
    bare = _LITERAL.sub("", code.split(";")[0]).lower().replace("am/pm", "").replace("a/p", "")
    if found := _ELAPSED.search(bare):
        return _duration(value, found[1][0], "s" in bare.replace(found[0], ""))
    bare = _BRACKET.sub("", bare)
    if not 0 <= value < 2_958_466:
        return None
    start = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30 if value >= 60 else 31)  # noqa: DTZ001
    moment = start + timedelta(seconds=round(value * 86_400))
    clock = "h" in bare or "s" in bare
    date = _date_part(moment, re.sub(r"h+:?m+|m+:?s+", "", bare) if clock else bare)
    time = (moment.strftime("%H:%M:%S") if "s" in bare else moment.strftime("%H:%M")) if clock else ""
    return " ".join(filter(None, (date, time)))


def _date_part(moment: datetime, bare: str) -> str:
    if "d" in bare:
        return moment.strftime("%Y-%m-%d") if "y" in bare or "m" not in bare else moment.strftime("%m-%d")
    if "m" in bare and "y" in bare:
        return moment.strftime("%Y-%m")
    return moment.strftime("%Y") if "y" in bare else moment.strftime("%B") if "m" in bare else ""


def _duration(value: float, unit: str, seconds: bool) -> str:
    total = round(abs(value) * 86_400)
    sign = "-" if value < 0 else ""
    if unit == "s":
        return f"{sign}{total}"
    if unit == "m":
        return f"{sign}{total // 60}:{total % 60:02d}"
    tail = f":{total % 60:02d}" if seconds else ""
    return f"{sign}{total // 3600}:{total // 60 % 60:02d}{tail}"
