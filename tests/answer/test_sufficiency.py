from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.answer.sufficiency import (
    ANY_SPACE_FILE,
    COEFFICIENTS_FILE,
    NAMES,
    Coefficients,
    Shortfall,
    Signals,
    dump,
    fit,
    heavy_terms,
    load,
    load_for,
    probability,
    shortfall,
    signals,
)
from veraz.answer.words import content_terms
from veraz.errors import ConfigError, UsageError

GOOD = Signals(1.0, 0.9, 1.0, 1.0, 0.9, 4.0, 0.8)
POOR = Signals(0.15, 0.1, 0.2, 0.5, 0.83, 2.0, 0.1)
CHUNKS = ["Burns: Cool a burn under running water for 20 minutes.", "Metformin by eGFR: 30 to 44, 1000 mg."]


def test_signals_measure_coverage_margin_and_agreement() -> None:
    ids = [uuid4() for _ in range(15)]
    measured = signals(
        "How long to cool a burn?",
        {"cool": 1.0, "burn": 3.0, "sun": 4.0},
        CHUNKS,
        ["Cool it down slowly now."],
        dense_pool=[0.9, 0.8, 0.8, 0.8, 0.8],
        lexical_top=ids[:10],
        semantic_top=ids[5:15],
    )
    assert measured.chunk_coverage == pytest.approx(0.5)
    assert measured.sentence_coverage == pytest.approx(0.125)
    assert measured.all_coverage == pytest.approx(0.5)
    assert measured.identifiers == 1.0
    assert measured.best_dense == pytest.approx(0.9)
    assert measured.dense_margin == pytest.approx(2.0)  # (0.9 - 0.82) / 0.04
    assert measured.agreement == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("dose for eGFR 40", 1.0),
        ("dose for eGFR 50", 0.0),
        ("fault E-4021", 0.0),
        ("fault E-4021 at 40", 0.5),
    ],
)
def test_identifiers_and_numbers_must_be_held(question: str, share: float) -> None:
    assert signals(question, {}, CHUNKS, []).identifiers == share


def test_nothing_gives_nothing() -> None:
    empty: list[UUID] = []
    assert signals("x", {}, [], [], lexical_top=empty) == Signals(0, 0, 0, 1.0, 0, 0, 0)


@pytest.mark.parametrize("file", [COEFFICIENTS_FILE, ANY_SPACE_FILE])
def test_better_evidence_is_more_probable(file: Path) -> None:
    fitted = load(file)
    assert probability(GOOD, fitted) > 0.8
    assert probability(POOR, fitted) < 0.1


def test_the_dense_level_counts_in_the_space_that_it_was_fitted_in_and_nowhere_else() -> None:
    level = replace(POOR, best_dense=0.95)
    own, other = load_for("e5-small"), load_for("another-space")
    assert probability(level, own) > probability(POOR, own)
    assert probability(level, other) == pytest.approx(probability(POOR, other))


@pytest.mark.parametrize("file", [COEFFICIENTS_FILE, ANY_SPACE_FILE])
@pytest.mark.parametrize("name", NAMES)
def test_more_evidence_never_lowers_the_probability(name: str, file: Path) -> None:
    fitted = load(file)
    higher = replace(POOR, **{name: getattr(POOR, name) + 0.3})
    assert probability(higher, fitted) >= probability(POOR, fitted)


def test_a_signal_that_would_count_against_an_answer_is_left_out_of_the_fit() -> None:
    rng = np.random.default_rng(3)
    drawn = [
        (replace(GOOD, chunk_coverage=float(c), agreement=float(1 - c)), bool(c > 0.5))
        for c in rng.random(200)
    ]
    fitted = fit(drawn)
    assert fitted.weights["chunk_coverage"] > 0
    assert fitted.weights["agreement"] == 0


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_a_probability_is_one(values: list[float]) -> None:
    assert 0 <= probability(Signals(*values), load()) <= 1


def samples(n: int, seed: int) -> list[tuple[Signals, bool]]:
    """Outcomes drawn from a known logistic model of the first signal alone."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        x = rng.uniform(0, 1, 7)
        p = 1 / (1 + np.exp(-(8 * x[0] - 4)))
        made.append((Signals(*map(float, x)), bool(rng.uniform() < p)))
    return made


def test_fit_recovers_the_model_that_made_the_samples() -> None:
    fitted = fit(samples(4000, 7), l2=1e-3)
    slope = fitted.weights["chunk_coverage"] / fitted.scale["chunk_coverage"]
    assert slope == pytest.approx(8, abs=0.8)
    others = [fitted.weights[name] / fitted.scale[name] for name in NAMES[1:]]
    assert max(map(abs, others)) < 0.6
    held_out = samples(8000, 8)
    predicted = np.asarray([probability(measured, fitted) for measured, _ in held_out])
    actual = np.asarray([outcome for _, outcome in held_out], float)
    for low in (0.0, 0.25, 0.5, 0.75):  # calibrated: in each band the share of positives is what was said
        band = (predicted >= low) & (predicted < low + 0.25)
        assert actual[band].mean() == pytest.approx(predicted[band].mean(), abs=0.05)


def test_fit_stands_at_the_optimum() -> None:
    """The gradient of the penalised log-likelihood, computed apart, is zero there for every signal that is used."""
    data = samples(200, 3)
    fitted = fit(data, l2=2.0)
    x = np.asarray([[(getattr(s, n) - fitted.mean[n]) / fitted.scale[n] for n in NAMES] for s, _ in data])
    residual = np.asarray([y - probability(s, fitted) for s, y in data])
    weights = np.asarray([fitted.weights[n] for n in NAMES])
    gradient = x.T @ residual - 2.0 * weights
    assert np.count_nonzero(weights) >= 1
    assert np.abs(gradient[weights > 0]).max() < 1e-6
    assert abs(residual.sum()) < 1e-6


def test_separable_and_constant_signals_do_not_break_the_fit() -> None:
    separable = [(GOOD, True)] * 5 + [(replace(POOR, identifiers=1.0), False)] * 5
    fitted = fit(separable, l2=1.0)
    assert fitted.weights["identifiers"] == 0.0
    assert probability(GOOD, fitted) > 0.9
    assert probability(replace(POOR, identifiers=1.0), fitted) < 0.1


@pytest.mark.parametrize("data", [[], [(GOOD, True), (POOR, True)]])
def test_one_outcome_cannot_calibrate(data: list[tuple[Signals, bool]]) -> None:
    with pytest.raises(UsageError, match="one outcome"):
        fit(data)


def test_coefficients_survive_the_file(tmp_path: Path) -> None:
    fitted = fit(samples(100, 1), provenance={"data": "made up", "made_at": "2025-01-01"})
    dump(fitted, tmp_path / "c.toml")
    again = load(tmp_path / "c.toml")
    assert again == fitted
    assert again.provenance["samples"] == 100


def test_a_wrong_file_names_the_signal(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    good = load()
    dump(Coefficients(0.0, {**good.weights, "mood": 1.0}, good.mean, good.scale, {}), path)
    with pytest.raises(ConfigError, match="mood"):
        load(path)
    dump(replace(good, scale={**good.scale, "agreement": 0.0}), path)
    with pytest.raises(ConfigError, match="scale must be above 0"):
        load(path)


def rule(question: str, chunks: list[str], **options: bool) -> Shortfall | None:
    return shortfall(question, content_terms(question, "en"), chunks, **options)


@pytest.mark.parametrize(
    ("question", "kind", "missing"),
    [
        ("What is the boiling point of nitrogen?", "missing_words", ("boiling", "nitrogen")),
        ("Which relay is replaced for fault E-9999?", "missing_identifiers", ("E-9999",)),
    ],
)
def test_what_is_nowhere_in_the_evidence_is_named(question: str, kind: str, missing: tuple[str, ...]) -> None:
    chunks = ["Fault E-4021: the feed relay does not close. Replace relay K3 (24 V).", "A point of order."]
    weights = content_terms(question, "en") | {"boiling": 3.0, "nitrogen": 3.0}
    found = shortfall(question, {t: w for t, w in weights.items() if t in question.lower()}, chunks)
    assert found == Shortfall(kind, missing)  # type: ignore[arg-type]


def test_evidence_that_holds_the_words_passes() -> None:
    assert rule("How long should a burn be cooled?", CHUNKS) is None
    assert rule("Which relay for E4021?", ["Fault E-4021: replace relay K3."]) is None


def test_a_misspelling_is_not_missing() -> None:
    assert rule("metfromin", CHUNKS) is None


def test_another_language_cannot_be_judged_by_words() -> None:
    assert rule("quemadura con agua", CHUNKS) is not None
    assert rule("quemadura con agua", CHUNKS, same_language=False) is None


def test_no_evidence_is_a_shortfall() -> None:
    assert rule("anything", []) == Shortfall("no_evidence", ())


def test_heavy_terms_carry_half_and_words_that_only_ask_do_not_count() -> None:
    assert heavy_terms({"combien": 9.0, "temps": 9.0, "gastro": 3.0, "dure": 2.0}) == ("gastro",)
    assert heavy_terms({"a1": 1.0, "b1": 1.0, "c1": 1.0}) == ("a1", "b1")
    assert heavy_terms({}) == ()
