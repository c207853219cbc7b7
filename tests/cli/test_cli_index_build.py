"""`veraz index build --kind` and how far a search looks: what they take, and what they show."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.conftest import FakeEngine, Run, document

from veraz.errors import CheckFailed
from veraz.nouns.corpus import IndexBuilt

BUILT = IndexBuilt(
    "local-384", "binary", {"m": 16, "ef_construction": 64, "oversampling": 16}, 1500, 3 * 2**20, 12.5,
    {"recall@10": 0.971, "recall@50": 0.962}, ("built without parallel workers",), "l2",
)  # fmt: skip


def test_what_was_built_is_shown(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_index"] = BUILT
    result = run("index", "build", "--kind", "binary", "--oversampling", "16", env={"COLUMNS": "160"})
    assert result.exit_code == 0
    for shown in (
        "local-384 has binary, m 16, ef_construction 64, oversampling 16: 1,500 vectors by l2, 3.0 MB",
        "measured before it was built: recall@10 0.971, recall@50 0.962",
        "built without parallel workers",
        "done in 12 s",
    ):
        assert shown in result.stdout, shown


def test_it_is_one_json_document(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_index"] = BUILT
    found = document(run("index", "build", "--kind", "binary", "--json"))
    assert (found["kind"], found["options"]["oversampling"], found["recall"]["recall@50"]) == (
        "binary",
        16,
        0.962,
    )


def test_a_refusal_ends_with_the_code_of_a_check(run: Run, fake: FakeEngine) -> None:
    fake.answers["build_index"] = CheckFailed("recall@50 is 0.61", fix="keep a graph")
    result = run("index", "build", "--kind", "binary")
    assert result.exit_code == 5
    assert "recall@50 is 0.61" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lists", "5"], "--lists without --kind"),
        (["--ef-construction", "64", "--m", "16"], "--ef-construction, --m without --kind"),
        (["--kind", "annoy"], "annoy"),
        (["--kind", "hnsw", "--m", "1"], "--m"),
    ],
)
def test_options_that_mean_nothing_are_wrong_usage(run: Run, arguments: list[str], said: str) -> None:
    result = run("index", "build", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("option", ["--ef-search", "--probes", "--oversampling"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "1000000"])
def test_a_search_refuses_what_no_index_takes(run: Run, option: str, value: Any) -> None:
    assert run("search", "a question", option, value).exit_code == 2
