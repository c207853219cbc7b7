"""What a statement is about and which way it points: population, medicines, negation, recommendation.

Two statements are only compared when these agree. The lists are short on purpose: what they miss is
compared and may be shown as a disagreement to the reader, what they hold wrongly hides one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from veraz.answer.words import fold, words

_POPULATIONS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{pattern})\b")
    for name, pattern in {
        "child": r"child(?:ren)?s?|kids?|toddlers?|paediatric|pediatric|ninos?|ninas?|infantil"
        "|pediatric[oa]s?|enfants?",
        "infant": r"bab(?:y|ies)|infants?|newborns?|neonat\w*|bebes?|recien nacid[oa]s?|lactantes"
        "|nourrissons?|nouveau nes?",
        "adult": r"adults?|adult[oa]s?|adultes?|grown ups?",
        "older": r"elderly|older (?:people|adults)|seniors?|ancian[oa]s?|personas mayores|personnes agees",
        "pregnant": r"pregnan\w+|embaraz\w+|enceintes?|grossesse|gestation",
        "breastfeeding": r"breast ?feed\w*|lactancia|allait\w+",
        "kidney": r"(?:kidney|renal) (?:disease|failure|impairment)|insuficiencia renal|insuffisance renale",
        "liver": r"(?:liver|hepatic) (?:disease|failure|impairment)|insuficiencia hepatica|insuffisance"
        " hepatique",
        "animal": r"dogs?|cats?|animals?|horses?|perros?|gatos?|chiens?|chats?",
    }.items()
}
_MEDICINE = re.compile(
    r"(?=\w{6,})\w+(?:profen|cillin|cilina|cilline|mycin|micina|mycine|oxacin|sartan|statin|statina|pril"
    r"|olol|azole|azol"
    r"|formin|gliptin|gliflozin|mab|nib|tidine|dipine|dipino|triptan|cycline|parin|rixaban|xaban|gatran"
    r"|vir|caine|acetamol"
    r"|barbital|azepam|zolam|phylline|terol|sone|solone|sonide|amide|thiazide|semide|setron|xetine"
    r"|traline|prazole|prazol|afil|afilo|peridol)\b"
    r"|\b(?:aspirin|aspirina|aspirine|warfarin|warfarina|insulin|insulina|insuline|morphine|codeine"
    r"|acetaminophen|digoxin"
    r"|lithium|metformina|ibuprofeno|ibuprofene|paracetamol|naproxen|steroids?|thyroxine|levothyroxine"
    r"|methotrexate)\b"
)
_SAME_MEDICINE = {
    "acetaminophen": "paracetamol",
    "ibuprofeno": "ibuprofen",
    "ibuprofene": "ibuprofen",
    "metformina": "metformin",
    "metformine": "metformin",
    "aspirina": "aspirin",
    "aspirine": "aspirin",
    "warfarina": "warfarin",
    "warfarine": "warfarin",
    "insulina": "insulin",
    "insuline": "insulin",
}
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|cannot|without|avoid\w*|contraindicated|\w+n t|\w{2,}n't|sin"
    r"|nunca|tampoco|evit\w+"
    r"|contraindicad[oa]s?|ningun[oa]?|pas|jamais|sans|aucune?|contre indiquee?s?|ni)\b"
)
_AGAINST = re.compile(
    r"\b(?:(?:is|are|was|were) (?:not|no longer|never) (?:\w+ )?(?:recommended|advised|indicated"
    r"|necessary|needed|safe|useful)"
    r"|(?:not|no longer|isnt|arent) (?:\w+ )?(?:recommended|advised|indicated)|should (?:not|never)"
    r"|shouldnt|must (?:not|never)|mustnt"
    r"|do not|dont|never|avoid(?:ed)?|contraindicated|(?:recommends?|advises?) against"
    r"|no se (?:recomienda|aconseja)"
    r"|no (?:debe|deben|es recomendable|esta recomendad[oa])|evit(?:e|ar|en)|(?:nest|est|sont) (?:pas"
    r"|plus) (?:recommandee?s?"
    r"|conseillee?s?)|(?:doit|doivent|faut) pas|deconseillee?s?|evitez)\b"
)
_FOR = re.compile(
    r"\b(?:(?:is|are) (?:\w+ )?(?:recommended|advised|indicated|safe|useful)|recommends?|advises?|should"
    r"|must|se (?:recomienda"
    r"|aconseja)|debe|deben|es recomendable|(?:est|sont) (?:\w+ )?(?:recommandee?s?|conseillee?s?)|doit"
    r"|doivent|il faut)\b"
)


def populations(text: str) -> frozenset[str]:
    """Groups of people (or animals) that a text names: child, infant, adult, pregnant, ..."""
    folded = _flat(text)
    return frozenset(name for name, pattern in _POPULATIONS.items() if pattern.search(folded))


def medicines(text: str) -> frozenset[str]:
    """Medicines that a text names, recognised by their usual endings and a short list."""
    return frozenset(_SAME_MEDICINE.get(name, name) for name in _MEDICINE.findall(fold(text)))


def negations(text: str) -> int:
    """How many negating words a text has."""
    return len(_NEGATION.findall(_flat(text)))


def polarity(text: str) -> int:
    """+1 when a text advises for something, −1 when it advises against, 0 when it does neither or both."""
    folded = " ".join(words(text))
    against = _AGAINST.sub(" ", folded)
    has_against, has_for = against != folded, _FOR.search(against) is not None
    return int(has_for) - int(has_against)


def _flat(text: str) -> str:
    return " ".join(fold(text).replace("’", "'").replace("-", " ").split())
