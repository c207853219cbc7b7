"""Python does not check types: an argument that means nothing is refused with the choices, never read as a default."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record

from veraz.config import AnswerConfig
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.corpus import Access
from veraz.nouns.lifecycle import Retention
from veraz.nouns.question import Filters

EMERGENCY = "My father has crushing chest pain and can't breathe"

QUESTIONED: list[tuple[dict[str, Any], str]] = [
    ({"mode": "bm25"}, "hybrid, lexical, semantic"),
    ({"k": 0}, "at least one hit"),
    ({"k": "5"}, "at least one hit"),
    ({"k": True}, "at least one hit"),
    ({"as_of": "2024-01-01"}, "give a datetime.date"),
    ({"as_of": datetime(2024, 1, 1, tzinfo=UTC)}, "give a datetime.date"),
    ({"lang": None}, "give a str"),
    ({"filters": {"sources": ("a",)}}, "give a Filters"),
    ({"filters": Filters(sources="nih")}, "give a list of strings"),  # type: ignore[arg-type]
    ({"filters": Filters(langs=(1,))}, "give a list of strings"),  # type: ignore[arg-type]
    ({"filters": Filters(authority="4")}, "from 1 to 5"),  # type: ignore[arg-type]
    ({"filters": Filters(authority=9)}, "from 1 to 5"),
    ({"filters": Filters(revised_from="2024")}, "give a datetime.date"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("given", "fix"), QUESTIONED, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("verb", ["search", "ask"])
async def test_a_question_with_a_meaningless_argument(
    engine: AsyncVeraz, verb: str, given: dict[str, Any], fix: str
) -> None:
    for question in ("metformin", EMERGENCY):  # a fixed rule answers before anything is searched
        with pytest.raises(UsageError) as refused:
            await getattr(engine, verb)(question, **given)
        assert fix in str(refused.value)


OTHERS: dict[str, tuple[Callable[[AsyncVeraz], Awaitable[Any]], str]] = {
    "fusion": (lambda e: e.search("x", fusion="borda"), "minmax, rrf"),  # type: ignore[arg-type]
    "fusion of ask": (lambda e: e.ask("x", fusion="borda"), "minmax, rrf"),  # type: ignore[arg-type]
    "question": (lambda e: e.search(b"x"), "give a str"),  # type: ignore[arg-type]
    "show revision": (lambda e: e.show("a", revision="1"), "whole number"),  # type: ignore[arg-type]
    "show day": (lambda e: e.show("a", as_of="2024-01-01"), "datetime.date"),  # type: ignore[arg-type]
    "acl": (lambda e: e.ingest("x", source="s", acl="secret"), "list of strings"),
    "acl rule": (lambda e: e.ingest("x", source="s", acl=["a"], acl_rule="none"), "any, all, owner"),  # type: ignore[arg-type]
    "ingest authority": (lambda e: e.ingest("x", source="s", authority="5"), "from 1 to 5"),  # type: ignore[arg-type]
    "revised at": (lambda e: e.ingest("x", source="s", revised_at="2024"), "datetime.date"),  # type: ignore[arg-type]
    "labels": (lambda e: e.set_access("a", source="s", access=Access("secret")), "list of labels"),  # type: ignore[arg-type]
    "since": (lambda e: e.supersede("a", source="s", by="b", since="2024"), "datetime.date"),  # type: ignore[arg-type]
    "batch": (lambda e: e.run_retention(batch=0), "whole number"),
    "retention": (lambda e: e.set_retention(Retention(history_days="9")), "from 0"),  # type: ignore[arg-type]
    "roles": (lambda e: e.add_key("k", roles="public"), "list of strings"),
    "expires": (lambda e: e.add_key("k", roles=["public"], expires=90), "give a str"),  # type: ignore[arg-type]
    "runs": (lambda e: e.eval_runs(top=0), "whole number"),
    "run names": (lambda e: e.compare_runs("ab"), "list of strings"),
    "modes": (lambda e: e.evaluate(Path("x"), modes=("bm25",)), "hybrid, lexical, semantic"),  # type: ignore[arg-type]
    "ks": (lambda e: e.evaluate(Path("x"), ks=(0,)), "whole number"),
}


@pytest.mark.parametrize("what", OTHERS)
async def test_every_other_method_that_takes_a_choice(engine: AsyncVeraz, what: str) -> None:
    call, fix = OTHERS[what]
    with pytest.raises(UsageError) as refused:
        await call(engine)
    assert fix in str(refused.value)


async def test_ask_reads_the_configured_evidence(database: str) -> None:
    async with await databases.open_engine(database, answer=AnswerConfig(evidence=3, threshold=0)) as engine:
        await put(engine, *(record(f"d{n}", f"Burns are cooled for {n} minutes.") for n in range(9)))
        for k, read in ((None, 3), (5, 5)):
            answer = await engine.ask("How long are burns cooled?", lang="en", k=k)
            assert answer.usage["evidence"] == read
        answer = await engine.ask("How long are burns cooled?", lang="en", fusion="rrf", exact=True)
        config = (await engine.trace(str(answer.trace_id))).record["config"]
        assert (config["fusion"], config["semantic"]["exact"]) == ("rrf", True)
