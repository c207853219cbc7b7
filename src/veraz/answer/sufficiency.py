"""Can the evidence answer the question? A calibrated probability from several signals, and rules above
it.

The probability is a logistic regression. No signal is a bare cosine: embedders give unrelated pairs high
values, so the dense score enters with its margin over the pool, beside the share of the question's words
that the evidence holds. The coefficients are data with provenance (`sufficiency.toml`); `fit` makes them
from judged questions.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt

from veraz.answer.measures import implied
from veraz.answer.quantities import asked_numbers, covers, quantities
from veraz.answer.words import ASKING, Terms, identifiers, mentions, words
from veraz.errors import ConfigError, UsageError

COEFFICIENTS_FILE = Path(__file__).with_name("sufficiency.toml")
"""Fitted in one embedding space, which its provenance names; the level of its dense scores counts."""
ANY_SPACE_FILE = Path(__file__).with_name("sufficiency_any_space.toml")
"""Fitted without the dense level, which means something else in every space."""

_ASKING = " ".join(ASKING)
_HEAVY_SHARE = 0.5  # the terms that together carry this share of the weight must not all be missing
_SPELLING = 0.82  # difflib ratio from which a word counts as a misspelling of another


@dataclass(frozen=True, slots=True)
class Signals:
    """All in 0..1 except `best_dense` (the best semantic score, by the space's distance) and `dense_margin`
    (in standard deviations of the pool, 0..6).

    `chunk_coverage` and `sentence_coverage`: weight of the question's terms in the best chunk and sentence;
    `all_coverage`: in all evidence together; `identifiers`: share of the question's identifiers and numbers
    that the evidence holds (1 when there are none); `agreement`: overlap of the two arms' first ten.
    """

    chunk_coverage: float
    sentence_coverage: float
    all_coverage: float
    identifiers: float
    best_dense: float
    dense_margin: float
    agreement: float


NAMES: tuple[str, ...] = tuple(field.name for field in fields(Signals))


@dataclass(frozen=True, slots=True)
class Coefficients:
    """`weights` apply to (signal − mean) / scale. `provenance` says on what, when and how they were made."""

    intercept: float
    weights: Mapping[str, float]
    mean: Mapping[str, float]
    scale: Mapping[str, float]
    provenance: Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why evidence cannot answer, whatever its probability. `missing` are words of the question as it was
    asked."""

    kind: Literal["no_evidence", "missing_words", "missing_identifiers", "not_together"]
    missing: tuple[str, ...]


def signals(
    question: str,
    terms: Mapping[str, float],
    chunks: Sequence[str],
    sentences: Sequence[str],
    *,
    dense_pool: Sequence[float] = (),
    lexical_top: Sequence[UUID] = (),
    semantic_top: Sequence[UUID] = (),
) -> Signals:
    """Measure the evidence.

    `chunks` are the evidence chunks as embedded (title and headings included), `sentences` the candidate
    sentences, `dense_pool` the scores of the semantic arm's candidates (the more, the steadier the margin),
    and the tops are the chunk ids that each arm ranked first, best first.
    """
    weighted = Terms(terms)
    pool = np.asarray(dense_pool, dtype=np.float64)
    best = float(pool.max()) if pool.size else 0.0
    return Signals(
        chunk_coverage=max((weighted.share(weighted.found(chunk)) for chunk in chunks), default=0.0),
        sentence_coverage=max((weighted.share(weighted.found(s)) for s in sentences), default=0.0),
        all_coverage=weighted.share(weighted.found(chunks)),
        identifiers=_named_share(question, chunks),
        best_dense=best,
        dense_margin=_margin(pool, best),
        agreement=_agreement(lexical_top, semantic_top),
    )


def probability(measured: Signals, coefficients: Coefficients) -> float:
    """Probability in 0..1 that the evidence answers; higher is better."""
    z = coefficients.intercept
    for name, value in asdict(measured).items():
        z += coefficients.weights[name] * (value - coefficients.mean[name]) / coefficients.scale[name]
    return float(_sigmoid(np.asarray([z]))[0])


def shortfall(
    question: str,
    terms: Mapping[str, float],
    chunks: Sequence[str],
    sentences: Sequence[str] | None = None,
    *,
    same_language: bool = True,
) -> Shortfall | None:
    """The rules above the probability: None when they have nothing against an answer.

    A question's identifiers (E-9999) must occur in the evidence. Of the terms that carry most of the
    question's weight at least one must occur, give or take a misspelling. This second rule is skipped when
    the identifiers are there, and when no evidence is in the question's language (`same_language` false),
    where words cannot match; nor is a measure missing that a sentence states by its unit. `sentences` are those that may
    answer (None: all that the evidence says): what only others say is not said of what the question names by an identifier.
    """
    sentences = chunks if sentences is None else sentences
    if not chunks:
        return Shortfall("no_evidence", ())
    names = identifiers(question)
    absent = tuple(name for name in names if not any(mentions(name, chunk) for chunk in chunks))
    if absent:
        return Shortfall("missing_identifiers", absent)
    if not same_language:
        return None
    if names:
        return _not_together(question, names, terms, chunks, sentences)
    heavy = heavy_terms(terms)
    if heavy and not Terms(terms).found(chunks) & set(heavy) and not _misspelt(heavy, chunks):
        if implied(heavy, Terms(_telling(terms)), sentences):
            return None
        return Shortfall("missing_words", _as_asked(question, heavy))
    return None


def _not_together(
    question: str,
    names: Sequence[str],
    terms: Mapping[str, float],
    chunks: Sequence[str],
    sentences: Sequence[str],
) -> Shortfall | None:
    """What the question asks about its identifiers must not be said of other ones alone (the relay of E-4021)."""
    parts = {part for name in names for part in words(name)}
    heavy = set(heavy_terms({term: weight for term, weight in terms.items() if term not in parts}))
    elsewhere = Terms(terms).found(chunks) & heavy
    if elsewhere and not Terms(terms).found(sentences) & heavy:
        return Shortfall("not_together", (*names, *_as_asked(question, sorted(elsewhere))))
    return None


def heavy_terms(terms: Mapping[str, float]) -> tuple[str, ...]:
    """The fewest terms that together carry more than half of the weight, heaviest first (ties by name).
    Words that only ask ("often", "combien") do not count: a rare word is heavy even when it says nothing
    about the subject."""
    telling = _telling(terms)
    total, carried, heavy = sum(telling.values()), 0.0, []
    for term, weight in sorted(telling.items(), key=lambda item: (-item[1], item[0])):
        if carried > total * _HEAVY_SHARE:
            break
        heavy.append(term)
        carried += weight
    return tuple(heavy)


def _telling(terms: Mapping[str, float]) -> dict[str, float]:
    asking = Terms(terms).found(_ASKING)
    return {term: weight for term, weight in terms.items() if term not in asking}


def fit(
    samples: Sequence[tuple[Signals, bool]],
    *,
    l2: float = 1.0,
    without: Collection[str] = (),
    provenance: Mapping[str, str | int | float] | None = None,
) -> Coefficients:
    """Logistic regression with an L2 penalty on the weights (not the intercept), by Newton's method (IRLS).

    Signals are standardised first, so `l2` means the same for each. Every signal is evidence for an answer: one that would get a
    negative weight only corrects another that it resembles, and is left out, so that more evidence never lowers the probability.
    Signals in `without`, and those that never vary, get weight 0 too. Raises UsageError when the samples hold only one outcome.
    """
    outcomes = np.asarray([answered for _, answered in samples], dtype=np.float64)
    if outcomes.size == 0 or outcomes.min() == outcomes.max():
        raise UsageError(
            f"{outcomes.size} samples with one outcome cannot calibrate sufficiency",
            fix="judge both questions that the corpus answers and questions that it does not",
        )
    raw = np.asarray([[getattr(measured, name) for name in NAMES] for measured, _ in samples], np.float64)
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    used = np.asarray([name not in without for name in NAMES]) & (scale > 1e-9)
    scale = np.where(scale > 1e-9, scale, 1.0)
    intercept, weights = _fit_upward((raw - mean) / scale, outcomes, used, l2)
    return Coefficients(
        intercept=intercept,
        weights=dict(zip(NAMES, map(float, weights), strict=True)),
        mean=dict(zip(NAMES, map(float, mean), strict=True)),
        scale=dict(zip(NAMES, map(float, scale), strict=True)),
        provenance={
            "samples": len(samples),
            "positives": int(outcomes.sum()),
            "l2": l2,
            **(provenance or {}),
        },
    )


def load(path: Path = COEFFICIENTS_FILE) -> Coefficients:
    """Read coefficients. Raises ConfigError naming the signal that is missing, unknown or not a number."""
    table = tomllib.loads(path.read_text("utf-8"))
    parts = {part: table.get(part, {}) for part in ("weights", "mean", "scale")}
    for part, values in parts.items():
        wrong = sorted(set(NAMES) ^ set(values))
        wrong += [name for name, value in values.items() if not isinstance(value, int | float)]
        if wrong:
            raise ConfigError(
                f"{path.name}: [{part}] and the signals differ in {', '.join(wrong)}", fix="fit again"
            )
    if any(value <= 0 for value in parts["scale"].values()):
        raise ConfigError(f"{path.name}: a scale must be above 0", fix="fit again")
    return Coefficients(float(table["intercept"]), **parts, provenance=table.get("provenance", {}))


def load_for(space: str) -> Coefficients:
    """The coefficients fitted in an embedding space, or those that hold in any."""
    own = load()
    return own if own.provenance.get("space") == space else load(ANY_SPACE_FILE)


def dump(coefficients: Coefficients, path: Path) -> None:
    """Write coefficients in the form that `load` reads."""
    lines = [f"intercept = {coefficients.intercept!r}"]
    for part in ("weights", "mean", "scale", "provenance"):
        lines += ["", f"[{part}]", *(f"{k} = {_toml(v)}" for k, v in getattr(coefficients, part).items())]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _fit_upward(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], used: npt.NDArray[np.bool_], l2: float
) -> tuple[float, npt.NDArray[np.float64]]:
    """Intercept and weights of the used columns, none below 0: the most negative column is left out until none is."""
    while True:
        beta = _newton(np.column_stack([np.ones(len(x)), x[:, used]]), y, l2)
        weights = np.zeros(x.shape[1])
        weights[used] = beta[1:]
        if weights.min() >= 0:
            return float(beta[0]), weights
        used = used & (np.arange(x.shape[1]) != int(weights.argmin()))


def _newton(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], l2: float) -> npt.NDArray[np.float64]:
    beta = np.zeros(x.shape[1])
    penalty = np.full(x.shape[1], max(l2, 1e-6))
    penalty[0] = 1e-9
    for _ in range(100):
        p = _sigmoid(x @ beta)
        gradient = x.T @ (y - p) - penalty * beta
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 4.0 / max(1e-12, float(np.abs(step).max())))  # damped: separable samples overshoot
        beta = beta + step
        if float(np.abs(step).max()) < 1e-9:
            break
    return beta


def _sigmoid(z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    value: npt.NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(z, -500, 500)))
    return value


def _margin(pool: npt.NDArray[np.float64], best: float) -> float:
    """How far the best dense score stands above the pool's mean, in standard deviations of the pool; 0 for
    fewer than five scores."""
    spread = float(pool.std()) if pool.size >= 5 else 0.0
    return min(6.0, (best - float(pool.mean())) / spread) if spread > 1e-9 else 0.0


def _agreement(lexical: Sequence[UUID], semantic: Sequence[UUID]) -> float:
    shorter = min(10, len(lexical), len(semantic))
    return len(set(lexical[:10]) & set(semantic[:10])) / shorter if shorter else 0.0


def _named_share(question: str, chunks: Sequence[str]) -> float:
    names = identifiers(question)
    held = [any(mentions(name, chunk) for chunk in chunks) for name in names]
    asked = asked_numbers(question)
    known = [q for chunk in chunks for q in quantities(chunk, "en")] if asked else []
    held += [any(covers(q, number) for q in known) for number in asked]
    return sum(held) / len(held) if held else 1.0


def _misspelt(heavy: Iterable[str], chunks: Sequence[str]) -> bool:
    vocabulary = sorted({word for chunk in chunks for word in words(chunk) if len(word) >= 5})
    return any(len(term) >= 5 and _near(term, vocabulary) for term in heavy)


def _near(term: str, vocabulary: Collection[str]) -> bool:
    alike = [word for word in vocabulary if word[0] == term[0] and abs(len(word) - len(term)) <= 2]
    return bool(difflib.get_close_matches(term, alike, n=1, cutoff=_SPELLING))


def _as_asked(question: str, terms: Iterable[str]) -> tuple[str, ...]:
    """The question's own spelling of its terms; a lexeme that no word of it shows stays as it is."""
    spelled = [word.strip("?!.,;:()[]\"'¿¡«»“”") for word in question.split()]
    return tuple(next((w for w in spelled if w and Terms({term: 1.0}).found(w)), term) for term in terms)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
