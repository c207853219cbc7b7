"""Every public method of an engine that the administrator's URL opened, called as who presented a credential: the login could do
everything, so it is the engine that must refuse. A method that is not listed here fails the suite."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpus import maintenance_rows, put, record
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import AccessDenied, UsageError
from veraz.nouns.corpus import Access, EmbeddingBatch, TextKind
from veraz.nouns.lifecycle import Retention

Call = Callable[[AsyncVeraz], Awaitable[Any]]
JUDGED = Path(__file__).parents[2] / "examples" / "judged"

OPERATOR: dict[str, Call] = {
    "init": lambda e: e.init(),
    "add_key": lambda e: e.add_key("own", roles=["secret"], may_write=True),
    "keys": lambda e: e.keys(),
    "revoke_key": lambda e: e.revoke_key("vz_" + "a" * 8),
    "tenants": lambda e: e.tenants(),
    "add_tenant": lambda e: e.add_tenant("mine"),
    "disable_tenant": lambda e: e.disable_tenant("default"),
    "enable_tenant": lambda e: e.enable_tenant("default"),
    "remove_tenant": lambda e: e.remove_tenant("default"),
    "ensure_tenant": lambda e: e.ensure_tenant("mine"),
    "status": lambda e: e.status(),
    "build_index": lambda e: e.build_index("hnsw"),
    "build_lexical_index": lambda e: e.build_lexical_index("pg_textsearch", drop=True),
    "measure_index": lambda e: e.measure_index(),
    "live_recall": lambda e: e.live_recall(),
}
WRITING: dict[str, Call] = {
    "ingest": lambda e: e.ingest(Path(__file__), source="s"),
    "merge_index": lambda e: e.merge_index(),
    "standing": lambda e: e.standing("a", source="s"),
    "set_access": lambda e: e.set_access("a", source="s", access=Access(("hr",))),
    "supersede": lambda e: e.supersede("a", by="b", source="s"),
    "delete": lambda e: e.delete("a", source="s"),
    "restore": lambda e: e.restore("a", source="s"),
    "erase": lambda e: e.erase("a", source="s"),
    "set_retention": lambda e: e.set_retention(Retention(history_days=1)),
    "run_retention": lambda e: e.run_retention(),
    "evaluate": lambda e: e.evaluate(Path("no/such/folder")),
    "sweep": lambda e: e.sweep([Path("no/such/folder")], grid=Path("grid.toml"), out=Path("out")),
}
"""In the order in which a writer may do all of them; evaluate and sweep fail for another reason then."""
READING: dict[str, Call] = {
    "search": lambda e: e.search("openword", lang="en"),
    "context": lambda e: e.context("openword", lang="en"),
    "ask": lambda e: e.ask("What is the openword?", lang="en"),
    "show": lambda e: e.show("a"),
    "repeated": lambda e: e.repeated("s"),
    "diagnose": lambda e: e.diagnose("openword", expect="a", lang="en"),
    "diagnose_suite": lambda e: e.diagnose_suite(JUDGED, source="s"),
    "retention": lambda e: e.retention(),
    "eval_runs": lambda e: e.eval_runs(),
    "space": lambda e: e.space(),
    "identity": lambda e: e.identity(),
}
OF_RECORDS = {"trace", "explain_trace", "eval_run", "compare_runs"}
OF_SUITES = {"check_suite", "judging", "import_spans"}
"""They read documents under the caller's rights, and write files alone: tests/evaluation/test_suite_engine.py."""
OF_THE_ENGINE = {"open", "close", "authenticate", "acting_as"}
"""They open, close, or say who acts: nothing of a tenant is read or changed."""

EVERYTHING = """
select (select count(*) from veraz.api_key), (select count(*) from veraz.tenant where disabled_at is null),
       (select jsonb_agg(settings) from veraz.tenant), (select jsonb_agg(d order by document_id) from veraz.document d),
       (select count(*) from veraz.revision), (select count(*) from veraz.source)
"""


def test_every_public_method_is_listed() -> None:
    public = {name for name, _ in inspect.getmembers(AsyncVeraz) if not name.startswith("_")}
    listed = [*OPERATOR, *WRITING, *READING, *OF_RECORDS, *OF_SUITES, *OF_THE_ENGINE]
    assert sorted(public) == sorted(listed)


class Unused(HashingEmbedder):
    async def embed(self, texts: Any, kind: TextKind) -> EmbeddingBatch:  # noqa: ARG002
        raise AssertionError("a model was asked")


@pytest.fixture
async def filled(engine: AsyncVeraz) -> AsyncVeraz:
    await put(engine, record("a", "The openword of a."), record("b", "The openword of b."))
    return engine


async def presented(engine: AsyncVeraz, *, may_write: bool) -> AsyncVeraz:
    made = await engine.add_key("portal", roles=["public"], may_write=may_write)
    return engine.acting_as(await engine.authenticate(key=made.key))


@pytest.mark.parametrize(
    ("name", "may_write"),
    [*((n, w) for n in OPERATOR for w in (False, True)), *((n, False) for n in WRITING)],
)
async def test_it_is_refused_before_any_work(
    filled: AsyncVeraz, monkeypatch: pytest.MonkeyPatch, name: str, may_write: bool
) -> None:
    caller = await presented(filled, may_write=may_write)
    before = await maintenance_rows(filled, EVERYTHING)  # type: ignore[arg-type]
    with monkeypatch.context() as watched:

        @asynccontextmanager
        async def untouched(*_: Any) -> AsyncIterator[None]:
            raise AssertionError("the database was asked")
            yield

        watched.setattr(caller._database, "_borrow", untouched)
        watched.setattr(caller._models, "embedder", Unused())
        with pytest.raises(AccessDenied, match="may not"):
            await (OPERATOR | WRITING)[name](caller)
    assert await maintenance_rows(filled, EVERYTHING) == before  # type: ignore[arg-type]


async def test_a_writer_may_do_what_concerns_its_own_documents(filled: AsyncVeraz) -> None:
    caller = await presented(filled, may_write=True)
    for name, call in WRITING.items():
        if name in ("evaluate", "sweep"):
            with pytest.raises(UsageError):
                await call(caller)
        else:
            await call(caller)


async def test_a_reader_may_read(filled: AsyncVeraz) -> None:
    caller = await presented(filled, may_write=False)
    for call in READING.values():
        await call(caller)
    trace = str((await caller.search("openword", lang="en")).trace_id)
    assert str((await caller.trace(trace)).trace_id) == trace
    assert await caller.explain_trace(trace)


async def test_a_reader_is_told_of_a_deleted_successor(filled: AsyncVeraz) -> None:
    await filled.supersede("a", by="b", source="s")
    await filled.delete("b", source="s")
    caller = await presented(filled, may_write=False)
    assert (await caller.show("a")).superseded_by == "b"


async def test_the_operator_may_do_everything(filled: AsyncVeraz) -> None:
    for name in ("status", "tenants", "keys", "add_tenant"):
        await OPERATOR[name](filled)
    other = filled.acting_as(await filled.ensure_tenant("mine"))
    assert (await other.add_key("x", roles=["public"])).info.tenant == "mine"
    with pytest.raises(UsageError, match="in tenant mine"):
        await other.revoke_key("vz_" + "a" * 8)
