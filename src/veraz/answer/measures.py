"""Words that name a measure, and the units that say it without the word: "tighten to 45 Nm" states a torque. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from veraz.answer.words import Terms, fold, stem

_MEASURES: tuple[tuple[str, str], ...] = (
    (
        "torque couple drehmoment anziehdrehmoment coppia koppel aanhaalmoment",
        r"n\W?m|ft\W?lbf?|lbf?\W?ft|in\W?lbf?",
    ),
    ("pressure presion pression druck pressione pressao druk", r"bar|[kmh]?pa|psi|mm\W?hg"),
    ("temperature temperatura temperatur temperatuur", r"°\s?[cf]|celsius|fahrenheit"),
    ("voltage tension spannung tensione tensao spanning", r"[km]?v|volts?"),
    ("amperage corriente courant strom corrente stroom", r"m?a|amps?|amperes?"),
    ("power potencia puissance leistung potenza vermogen", r"[km]?w|watts?|hp"),
    ("speed velocity velocidad vitesse geschwindigkeit velocita velocidade snelheid", r"km/h|m/s|mph|rpm"),
    ("weight mass peso masa poids masse gewicht massa", r"[kmµ]?g|lbs?|tons?|tonnes?"),
    (
        "length width height depth thickness diameter distance clearance longitud anchura altura profundidad espesor diametro"
        " distancia longueur largeur hauteur profondeur epaisseur diametre lange breite hohe dicke abstand lunghezza larghezza",
        r"[mck]?m|inch(?:es)?|ft|feet",
    ),
    ("volume capacity volumen capacidad capacite volumen capacita", r"m?l|lit(?:er|re)s?|gallons?|m3|m³"),
    ("force fuerza kraft forza forca kracht", r"k?n"),
    ("humidity humedad humidite feuchtigkeit umidita percentage porcentaje pourcentage", r"%"),
    ("angle angulo winkel angolo hoek", r"°"),
    ("price cost fee precio prix preis prezzo preco prijs", r"€|eur|euros?|usd|dollars?|gbp|pounds?"),
)
_UNITS = {
    stem(name): re.compile(rf"\d\s?(?:{units})(?![\w/])")
    for names, units in _MEASURES
    for name in names.split()
}
_UNIT_ASKED = re.compile(
    r"\b(?:in|to|how many|cuantos|combien de|wie viele|hoeveel)\s+(?:how many\s+)?(?:degrees\s+)?"
    r"(?:fahrenheit|celsius|kelvin|nm|newton met(?:er|re)s?|mmhg|bar|psi|k?pa|volts?|amps?|watts?|mg|ml|kg|km/h|mph|rpm)\b"
)


def implied(missing: Sequence[str], terms: Terms, sentences: Sequence[str]) -> bool:
    """Whether some sentence holds every other word of the question, and states what the missing ones name by its unit."""
    patterns = [_UNITS.get(stem(fold(word))) for word in missing]
    others = set(terms.weights) - set(missing)
    return bool(others) and any(
        all(pattern is not None and pattern.search(fold(sentence)) for pattern in patterns)
        and others <= terms.found(sentence)
        for sentence in sentences
    )


def names_unit(question: str) -> bool:
    """Whether a value in a named unit is asked for, which no sentence without a number gives."""
    return _UNIT_ASKED.search(fold(question)) is not None
