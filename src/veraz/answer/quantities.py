"""Numbers with their units: read out of prose in English, Spanish and French, and compared.

How a numeral is read depends on the language of its text: see `numerals`. Weights, volumes and times are
brought to one unit of their kind (mg, ml, minutes), so "1 g" equals "1000 mg" and "24 hours" equal "1
day". Months and years are a kind of their own, because a month has no fixed number of days.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from veraz.answer.numerals import MARKS, spelled
from veraz.answer.words import fold

_UNITS: dict[str, tuple[str, float]] = {}


def _define(kind: str, factor: float, names: str) -> None:
    _UNITS.update(dict.fromkeys(names.split("|"), (kind, factor)))


_define("mg", 1, "mg|milligram|milligrams|miligramo|miligramos|milligramme|milligrammes")
_define("mg", 1000, "g|gram|grams|gramo|gramos|gramme|grammes")
_define("mg", 0.001, "mcg|µg|μg|ug|microgram|micrograms|microgramos|microgrammes")
_define("mg", 1_000_000, "kg|kilogram|kilograms|kilo|kilos|kilogramos|kilogrammes")
_define("ml", 1, "ml|milliliter|milliliters|millilitre|millilitres|mililitros")
_define("ml", 1000, "l|liter|liters|litre|litres|litro|litros")
_define("minute", 1 / 60, "s|sec|secs|second|seconds|segundo|segundos|seconde|secondes")
_define("minute", 1, "min|mins|minute|minutes|minuto|minutos")
_define("minute", 60, "h|hr|hrs|hour|hours|hora|horas|heure|heures")
_define("minute", 1440, "day|days|dia|dias|jour|jours")
_define("minute", 10080, "week|weeks|semana|semanas|semaine|semaines")
_define("month", 1, "month|months|mes|meses|mois")
_define("month", 12, "year|years|ano|anos|an|ans|annee|annees")
_define("°C", 1, "°c|degrees celsius|grados|degres|celsius")
_define("°F", 1, "°f|degrees fahrenheit|fahrenheit")
_define("mmHg", 1, "mmhg|mm hg")
_define("%", 1, "%|percent|per cent|por ciento|pour cent")
_define("mL/min", 1, "ml/min|ml/min/1.73 m2|ml/min/1.73m2")
_define("mmol/l", 1, "mmol/l")
_define("mg/dl", 1, "mg/dl")
_define("IU", 1, "iu|ui|units|unidades|unites|international units")
_define("kcal", 1, "kcal|calories|calorias")
_define("mm", 1, "mm")
_define("mm", 10, "cm|centimetres|centimeters|centimetros|centimetre|centimeter")
_define("mm", 1000, "m|metre|metres|meter|meters|metro|metros")
_define("Nm", 1, "nm|newton metres")
_define("km/h", 1, "km/h|kmh")
_define("m/s", 1, "m/s")
_define("°", 1, "°|degrees")
_define("tablet", 1, "tablet|tablets|pill|pills|capsule|capsules|comprimido|comprimidos|comprime|comprimes")
_define("dose", 1, "dose|doses|dosis")
_define("time", 1, "times|time|veces|vez|fois")
_define("reading", 1, "reading|readings|measurement|measurements|mediciones|medidas|mesures")
_define("puff", 1, "puff|puffs|inhalaciones|bouffees")
_define("cup", 1, "cup|cups|glass|glasses|vasos|verres")

_WORD_NUMBERS = {
    name: float(value)
    for value, names in enumerate(
        (
            "one|una|un|une|uno", "two|dos|deux", "three|tres|trois", "four|cuatro|quatre", "five|cinco|cinq",
            "six|seis", "seven|siete|sept", "eight|ocho|huit", "nine|nueve|neuf", "ten|diez|dix",
            "eleven|once|onze", "twelve|doce|douze",
        ),
        start=1,
    )
    for name in names.split("|")
}  # fmt: skip
_DIGITS = rf"\d+(?:[.,{MARKS}]\d+)*"
_NUMBER = rf"(?:{_DIGITS}|\b(?:{'|'.join(sorted(_WORD_NUMBERS, key=len, reverse=True))})\b)"
_UNIT = "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))
_QUANTITY = re.compile(
    rf"(?<![\w.,/{MARKS}-])(?P<low>{_NUMBER})(?P<u1>\s*(?:{_UNIT})(?!\w))?"
    rf"(?:(?P<join>\s*(?:-|–|—|to|a|and|y|et|or|o|ou)\s*|/)(?P<high>{_NUMBER}))?"
    rf"(?:[ \u00a0-]*(?P<unit>{_UNIT})(?!\w))?"
)
_PEOPLE = (
    "children|child|adults?|people|person|babies|baby|infants?|women|men|patients|ninos?|ninas?|bebes?"
    "|hijos?|adultos?"
    "|personas|pacientes|enfants?|nourrissons?|adultes?|personnes|patients"
)
_YEARS = "years?|months?|weeks?|anos?|mes|meses|semanas?|ans?|mois|semaines?"
_AGE = re.compile(
    r"\b(?:aged?|ages|older than|younger than|age of|menores de|mayores de|ages? de)\s+(?P<a>\d+)"
    rf"(?:\s*(?:to|a|-|–)\s*\d+)?(?:\s*-?(?P<ua>{_YEARS})\b)?"
    rf"|\b(?:{_PEOPLE})(?: \w+){{0,2}}? (?:under|over|above|below|of|up to|less than|more than|de"
    rf"|de moins de|de plus de)"
    rf"\s+(?P<b>\d+)(?:\s*-?(?P<ub>{_YEARS})\b|(?=\W))"
    r"|\b(?P<c>\d+)[\s-](?P<uc>year|month|week)s?[\s-]olds?\b"
)
_AT_LEAST = re.compile(
    r"(?:at least|more than|over|above|from|minimum of|>=?|≥|al menos|como minimo|mas de|por encima de"
    r"|a partir de"
    r"|au moins|plus de|au dessus de|superieure? a)\s*$"
)
_AT_MOST = re.compile(
    r"(?:at most|less than|up to|under|below|maximum of|max|no more than|not more than|within|<=?|≤"
    r"|como maximo|menos de"
    r"|hasta|por debajo de|au plus|moins de|jusqu a|inferieure? a)\s*$"
)
_OR_MORE = re.compile(
    r"^\s*(?:or (?:more|higher|above|over|longer|greater)|o mas|y mas|o superior|ou plus|et plus|\+)"
)
_OR_LESS = re.compile(r"^\s*(?:or (?:less|lower|below|fewer|under)|o menos|ou moins)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_POWER = re.compile(r"(?<=\d)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """`values` in the unit of its kind: one number, the two ends of a range, or the two numbers of a pair
    such as 135/85. `bound` is ">=", "<=" or "" as the words around it say. `unit` is "" for a number
    without a known unit. `doubtful`: the spelling of what may be two different numbers, such as 1.000 in an
    unknown language; then there are no values, it equals only the same spelling, and contradicts nothing."""

    values: tuple[float, ...]
    unit: str
    bound: str
    pair: bool
    start: int
    end: int
    doubtful: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """Empty, so that it holds no number, where the quantity is doubtful."""
        return min(self.values, default=math.inf), max(self.values, default=-math.inf)


def is_unit(word: str) -> bool:
    return fold(word) in _UNITS


def quantities(text: str, lang: str = "") -> list[Quantity]:
    """Quantities in order of appearance, ages ("under 12 years") left out; positions are in the folded
    text. `lang` is the language of the text, empty where it is not known."""
    folded = _plain(text, lang)
    aged = [match.span() for match in _AGE.finditer(folded)]
    found = (_read(match, folded) for match in _QUANTITY.finditer(folded))
    return [q for q in found if q and not any(a <= q.start < b for a, b in aged)]


def ages(text: str) -> frozenset[str]:
    """Ages that a text is about, as number and unit letter ("12y", "3m"); never compared as quantities."""
    return frozenset(_age(match) for match in _AGE.finditer(_plain(text)))


def numbers(text: str, lang: str = "") -> frozenset[str]:
    """Every number of a text, written one way: "4,000" and "4000" are equal in English, "10⁵" is "10^5" and
    never "105"."""
    found = re.findall(rf"{_DIGITS}(?:\^\d+)?", _plain(text, lang))
    return frozenset(map(_canonical, found))


def asked_numbers(question: str, lang: str = "en") -> list[float]:
    """Plain numbers of a question, such as the 40 of "an eGFR of 40"."""
    plain = spelled(question, lang)
    found = re.findall(rf"(?<![\w.,/{MARKS}-])\d+(?:\.\d+)?(?![\w/{MARKS}-]|[.,]\d)", plain)
    return [float(number) for number in found]


def covers(quantity: Quantity, number: float) -> bool:
    """Whether a number is a quantity's value or lies in its range: "eGFR of 40" is covered by "30 to 44"."""
    low, high = quantity.interval
    return low <= number <= high


def compatible(a: Quantity, b: Quantity) -> bool:
    """Whether two quantities can both be true of one thing: equal, one range inside the other, ranges that
    meet, or a different unit. Two bounds of the same direction at different numbers ("3 days or more", "5
    days or more") are not."""
    if a.unit != b.unit or a.doubtful or b.doubtful:
        return True
    if a.pair or b.pair:
        return a.values == b.values
    (a_low, a_high), (b_low, b_high) = a.interval, b.interval
    if a.bound == ">=" and b.bound == "<=":
        return a_low <= b_high
    if a.bound == "<=" and b.bound == ">=":
        return b_low <= a_high
    return a_low <= b_high + 1e-9 and b_low <= a_high + 1e-9


def _age(match: re.Match[str]) -> str:
    number = match["a"] or match["b"] or match["c"]
    unit = match["ua"] or match["ub"] or match["uc"] or "year"
    month = unit.startswith(("month", "mes", "moi"))
    return number + ("w" if unit.startswith(("week", "sem")) else "m" if month else "y")


def _plain(text: str, lang: str = "") -> str:
    plain = " ".join(spelled(text, lang).split())
    powers = _POWER.sub(lambda m: "^" + m.group(1).translate(_SUPERSCRIPTS), plain)
    return fold(powers.replace("º", "°").replace("° ", "°")).replace("’", " ").replace("'", " ")


def _read(match: re.Match[str], text: str) -> Quantity | None:
    name = (match["unit"] or match["u1"] or "").strip()
    kind, factor = _UNITS.get(name, ("", 1.0))
    low, joined, high = match["low"], (match["join"] or "").strip(), match["high"]
    if not kind and not low[0].isdigit():
        return None  # "one of them" is no quantity
    values = [_value(low)]
    start, end = match.span()
    if high and (joined not in ("and", "y", "et", "or", "o", "ou") or _between(text, start)):
        values.append(_value(high))
    elif high:  # "two or three days": a range; "5 and 10 mg": the second one carries the unit
        values = [_value(low), _value(high)] if joined in ("or", "o", "ou") else [_value(high)]
    pair, bound = joined == "/", _bound(text, start, end)
    if any(math.isnan(value) for value in values):
        return Quantity((), kind, bound, pair, start, end, doubtful=match.group().strip())
    scaled = tuple(value * factor for value in values)
    return Quantity(scaled if pair else tuple(sorted(scaled)), kind, bound, pair, start, end)


def _between(text: str, start: int) -> bool:
    return re.search(r"(?:between|entre)\s*$", text[:start]) is not None


def _bound(text: str, start: int, end: int) -> str:
    before, after = text[max(0, start - 24) : start], text[end : end + 24]
    if _AT_LEAST.search(before) or _OR_MORE.match(after):
        return ">="
    return "<=" if _AT_MOST.search(before) or _OR_LESS.match(after) else ""


def _value(number: str) -> float:
    """Not a number where its spelling does not say which."""
    if number in _WORD_NUMBERS:
        return _WORD_NUMBERS[number]
    try:
        return float(_canonical(number))
    except ValueError:
        return math.nan


def _canonical(number: str) -> str:
    """Without zeros that say nothing."""
    base, power, exponent = number.partition("^")
    return (base.lstrip("0") or "0") + power + exponent if base.isdigit() else number
