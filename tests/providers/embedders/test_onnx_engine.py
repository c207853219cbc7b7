from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ProviderError
from veraz.providers.embedders.checks import refuse_degenerate
from veraz.providers.embedders.onnx_engine import available_cores, plan_batches


@given(st.lists(st.integers(1, 512), max_size=200), st.integers(1, 4096))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = plan_batches(lengths, budget)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget
    in_order = [lengths[i] for batch in batches for i in batch]
    assert in_order == sorted(lengths, reverse=True)


def test_batches_are_filled() -> None:
    assert plan_batches([10, 10, 10, 2, 2, 2], budget=20) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_refused_by_position(bad: list[float]) -> None:
    with pytest.raises(ProviderError, match="text 1 got a vector that is zero or not finite"):
        refuse_degenerate(np.array([[1, 0], bad, [0, 1]], np.float32))


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot limit a process to cores"
)
def test_only_the_cores_that_the_process_may_use_are_counted() -> None:
    allowed = os.sched_getaffinity(0)
    assert available_cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert available_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
