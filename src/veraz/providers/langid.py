"""Language identification for documents and for questions of a few words.

Function words decide first: they are free, they are right on anything longer than a phrase, and most
questions hold two of them. Only what they leave open goes to lingua, whose models take seconds and
memory to load; without the package such texts stay undecided. Undecided is an answer: a wrong analyser
loses words that an undecided one keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from veraz.providers.ports import LanguageDetector
from veraz.text.function_words import FUNCTION_WORDS, LETTERS

if TYPE_CHECKING:
    import lingua

_ALL_LETTERS: Final = frozenset().union(*LETTERS.values())
LANGUAGES: Final = ("en", "es", "fr", "de", "it", "pt", "nl")

_SAMPLE = 2000
CERTAIN = 4.0
"""Function words of one language, counted as `_weights` does, that names and codes do not hold by chance."""
_WORD = re.compile(r"[^\W\d_]+")
_ELIDED = re.compile(r"([^\W\d_]+)(['’]?)")
_CAPITALS = re.compile(r"\b[^\W\d_a-zà-öø-ÿ]{2,}\b")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")),
)


class LocalDetector:
    """Function words first, then `fallback` for what they leave open."""

    def __init__(
        self, languages: Sequence[str] = LANGUAGES, *, fallback: LanguageDetector | None = None
    ) -> None:
        self.weights = _weights([code for code in languages if code in FUNCTION_WORDS])
        self.fallback = fallback if fallback is not None else _lingua_or_nothing(languages)

    def detect(self, text: str) -> str | None:
        sample = text[:_SAMPLE]
        script = _script(sample)
        if script != "latin":
            return script
        return self._by_words(sample) or self.fallback.detect(sample)

    def certain(self, text: str) -> str | None:
        sample = text[:_SAMPLE]
        script = _script(sample)
        return script if script != "latin" else self._by_words(sample, least=CERTAIN)

    def told(self, text: str) -> str | None:
        sample = text[:_SAMPLE]
        script = _script(sample)
        if script == "latin" and not sample.isupper():
            sample = _CAPITALS.sub(" ", sample)  # ICH, ALS and WAS are abbreviations
        return script if script != "latin" else self._by_words(sample)

    def _by_words(self, sample: str, *, least: float = 1.0) -> str | None:
        scores = dict.fromkeys(self.weights, 0.0)
        folded = sample.lower()
        for token in _tokens(folded) | {char for char in folded if char in _ALL_LETTERS}:
            for code, weights in self.weights.items():
                scores[code] += weights.get(token, 0.0)
        ranked = sorted(scores.items(), key=lambda entry: -entry[1])
        if len(ranked) < 2:
            return None
        (code, best), (_, second) = ranked[:2]
        return code if best >= least and best >= 1.6 * second else None


class LinguaDetector:
    """lingua-language-detector (Apache-2.0) with full models, loaded at the first question that needs them.

    Its small models are quicker to load but name the wrong language for a quarter of five-word questions.
    `margin` is how far, in probability, the first language must lead the second.
    """

    def __init__(self, languages: Sequence[str] = LANGUAGES, *, margin: float = 0.15) -> None:
        self.languages = languages
        self.margin = margin

    def detect(self, text: str) -> str | None:
        if not _WORD.search(text):
            return None
        first, second = self._detector.compute_language_confidence_values(text[:_SAMPLE])[:2]
        if first.value - second.value < self.margin:
            return None
        return first.language.iso_code_639_1.name.lower()

    def certain(self, text: str) -> str | None:  # noqa: ARG002
        return None

    def told(self, text: str) -> str | None:  # noqa: ARG002
        return None

    @cached_property
    def _detector(self) -> lingua.LanguageDetector:
        import lingua

        codes = [getattr(lingua.IsoCode639_1, code.upper()) for code in self.languages]
        return lingua.LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()


class NullDetector:
    """Never sure. Stands in where no detector is installed."""

    def detect(self, text: str) -> str | None:  # noqa: ARG002
        return None

    def certain(self, text: str) -> str | None:  # noqa: ARG002
        return None

    def told(self, text: str) -> str | None:  # noqa: ARG002
        return None


def _lingua_or_nothing(languages: Sequence[str]) -> LanguageDetector:
    if len(languages) > 1 and find_spec("lingua") is not None:
        return LinguaDetector(languages)
    return NullDetector()


def _weights(languages: Iterable[str]) -> dict[str, dict[str, float]]:
    """For each language its words and letters with their weights: one shared by n languages says 1/n² as
    much."""
    marks = {code: FUNCTION_WORDS[code] | LETTERS[code] for code in languages}
    spread: dict[str, int] = {}
    for own in marks.values():
        for mark in own:
            spread[mark] = spread.get(mark, 0) + 1
    return {code: {mark: 1 / spread[mark] ** 2 for mark in own} for code, own in marks.items()}


def _tokens(folded: str) -> set[str]:
    """Words; those that lost a vowel ("l'", "dell'") with their apostrophe, since a lone letter is a
    name or a code."""
    return {word if mark == "" else f"{word}'" for word, mark in _ELIDED.findall(folded)}


def _script(sample: str) -> str | None:
    """ "latin", or the language of a script that names one, or None for scripts that do not."""
    letters = sum(map(str.isalpha, sample))
    if not letters:
        return None
    if len(_LATIN.findall(sample)) * 2 >= letters:
        return "latin"
    for code, pattern in _SCRIPTS:
        # Japanese mixes kana with Chinese characters: a tenth of kana is enough to tell.
        if len(pattern.findall(sample)) * (10 if code == "ja" else 2) >= letters:
            return code
    return None
