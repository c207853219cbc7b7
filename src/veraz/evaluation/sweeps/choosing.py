"""Which configuration, and whether that choice is worth anything on queries that did not make it. Pure.

1. The current configuration stays unless something is proven better: paired, over queries, each set weighing the same, corrected
   for having looked at the whole grid (`strata.better_than`, at ALPHA).
2. Of what is proven better, whatever lies within one standard error of the best of them counts as equal to it; the one with the
   fewest changes is taken, changes of the index counting before all others.
3. What was taken must beat the better of its own arms alone, on every gate measure with the whole interval; else that arm is
   taken: two arms cost more than one, so that fusion has to earn its place.

Cross-validation runs all three steps on the other folds for each fold, so that what is held out took no part in any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veraz.evaluation.statistics import SEED, Array
from veraz.evaluation.sweeps import strata as st
from veraz.evaluation.sweeps.folds import Folds
from veraz.nouns.sweep import Arm, Choice, Fold, Gate, HeldOut, Interval, Setting

ALPHA = 0.05
GATE_MEASURES = ("ndcg@10", "recall@20")
FOLD_SAMPLES = 2_000
"""Random signs and resamples inside a fold; the final choice takes five times as many."""


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured. `values`: measure → (configurations, queries), over queries that may choose; `strata`: each query's set.
    `changes`: of each configuration, how many keys of the index and how many others differ from the current one, which is the
    first."""

    settings: Sequence[Setting]
    changes: Sequence[tuple[int, int]]
    values: Mapping[str, Array]
    strata: Sequence[str]
    measure: str

    def of(self, queries: Folds) -> Table:
        """The same over a part of the queries, given by their places."""
        chosen = queries.tolist()
        return Table(
            self.settings,
            self.changes,
            {measure: values[:, chosen] for measure, values in self.values.items()},
            [self.strata[place] for place in chosen],
            self.measure,
        )

    @property
    def means(self) -> Array:
        """Of the measure that decides, by configuration."""
        result: Array = self.values[self.measure] @ st.weights(self.strata)
        return result

    def against(
        self, number: int, other: int, measure: str | None = None, *, samples: int, seed: int
    ) -> Interval:
        values = self.values[measure or self.measure]
        return st.interval(values[number] - values[other], self.strata, samples=samples, seed=seed)


def choose(table: Table, *, samples: int = 5 * FOLD_SAMPLES, seed: int = SEED) -> Choice:
    """What these queries decide for."""
    fused = [n for n, s in enumerate(table.settings) if s.mode == "hybrid"]
    contenders = fused if 0 in fused else [0, *fused]
    means = table.means
    best = max(contenders, key=lambda n: (means[n], -n))
    number = _proven(table, contenders, means, samples, seed)
    gate = beats_its_arms(table, number, samples=samples, seed=seed)
    if gate is not None and not gate.passed:
        alone = table.settings.index(table.settings[number].alone(gate.arm))
        return Choice(alone, best, "arm", gate)
    return Choice(number, best, "better" if number else "kept", gate)


def _proven(table: Table, contenders: Sequence[int], means: Array, samples: int, seed: int) -> int:
    values = table.values[table.measure]
    p = st.better_than(values[contenders] - values[0], table.strata, samples=samples, seed=seed)
    proven = [n for n, chance in zip(contenders, p, strict=True) if n and chance <= ALPHA]
    if not proven:
        return 0
    best = max(proven, key=lambda n: (means[n], -n))
    equal = [
        n
        for n in proven
        if means[best] - means[n] <= st.standard_error(values[best] - values[n], table.strata) or n == best
    ]
    return min(equal, key=lambda n: (table.changes[n], -means[n], n))


def beats_its_arms(table: Table, number: int, *, samples: int, seed: int) -> Gate | None:
    """The gate of one configuration against the better of its arms. None for an arm alone."""
    setting = table.settings[number]
    if setting.mode != "hybrid":
        return None
    places: dict[Arm, int] = {
        name: table.settings.index(setting.alone(name)) for name in ("semantic", "lexical")
    }
    means = table.means
    better = max(places, key=lambda name: means[places[name]])
    intervals = {
        measure: table.against(number, places[better], measure, samples=samples, seed=seed)
        for measure in GATE_MEASURES
    }
    return Gate(better, intervals, all(found.low > 0 for found in intervals.values()))


def validate(table: Table, folds: Folds, final: Choice, *, seed: int = SEED) -> HeldOut:
    """Chooses anew for each fold on the others, and gathers what these choices are worth on the fold itself."""
    values = table.values[table.measure]
    kept = np.empty(values.shape[1])
    naive = np.empty(values.shape[1])
    chosen, arms = np.zeros(values.shape[1], dtype=np.int64), np.full(values.shape[1], -1, dtype=np.int64)
    found: list[Fold] = []
    for number in range(int(folds.max()) + 1):
        held, others = np.nonzero(folds == number)[0], np.nonzero(folds != number)[0]
        training = table.of(others)
        choice = choose(training, samples=FOLD_SAMPLES, seed=seed)
        kept[held] = values[choice.number, held]
        naive[held] = values[choice.best, held]
        chosen[held] = choice.number
        if choice.gate is not None and table.settings[choice.number].mode == "hybrid":
            arms[held] = table.settings.index(table.settings[choice.number].alone(choice.gate.arm))
        held_table = table.of(held)
        found.append(
            Fold(
                number=number + 1,
                queries=len(held),
                choice=choice,
                training=float(training.means[choice.number]),
                held_out=float(held_table.means[choice.number]),
            )
        )
    weights = st.weights(table.strata)
    mean, current = float(kept @ weights), float(values[0] @ weights)
    against = st.interval(kept - values[0], table.strata, seed=seed)
    return HeldOut(
        measure=table.measure,
        folds=tuple(found),
        mean=mean,
        current=current,
        naive=float(naive @ weights),
        optimism=float(np.mean([fold.training for fold in found])) - mean,
        against_current=against,
        gate=_held_gate(table, chosen, arms, found, seed),
        agree=sum(fold.choice.number == final.number for fold in found),
        holds=against.difference >= -st.ROUNDING,
    )


def _held_gate(table: Table, chosen: Folds, arms: Folds, folds: Sequence[Fold], seed: int) -> Gate | None:
    """Fused against the arm that each fold's training took for the better one; None where a fold took an arm alone."""
    if (arms < 0).any():
        return None
    queries = np.arange(len(chosen))
    intervals = {
        measure: st.interval(
            table.values[measure][chosen, queries] - table.values[measure][arms, queries],
            table.strata,
            seed=seed,
        )
        for measure in GATE_MEASURES
    }
    named = [fold.choice.gate.arm for fold in folds if fold.choice.gate]
    return Gate(
        max(dict.fromkeys(named), key=named.count), intervals, all(i.low > 0 for i in intervals.values())
    )
