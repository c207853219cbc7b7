"""Hostile text in every place that takes text: it finds nothing that is hidden, changes nothing, and no error of the database
reaches the caller."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.attack.engine import leaked, told
from tests.support.attack.siege import besieging
from tests.support.attack.world import WORD, World, marker
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import VerazError
from veraz.nouns.question import Filters

PAYLOADS = {
    "quote": "'",
    "always true": "x' or '1'='1",
    "comment": "x'; drop table veraz.document; --",
    "union": "') union select external_id, text from veraz.revision where text like '%rest%' --",
    "set": "x'; set veraz.tenant_id = ''; select set_config('veraz.roles', '{hr}', false); --",
    "dollar": "$$ || (select text from veraz.revision limit 1) || $$",
    "escape": "\\' or 1=1 --",
    "backslash": "\\",
    "place": "%s %(tenant_id)s %% %b",
    "format": "{embedding} {0} {} {tenant.__class__}",
    "array": '{public,hr}","hr',
    "array end": "}",
    "array null": "NULL",
    "tsquery": "!a & (b | <-> :*",
    "tsvector": "'a':1A,2B 'b",
    "sparse vector": "{1:1}/1000000000",
    "half vector": "[1e400,nan,inf]",
    "json": '", "acl": ["hr"], "x": "',
    "json path": '$.** ? (@ like_regex ".*")',
    "json escape": r"\u0000 \ud800 \" \\u0000",
    "like": "%",
    "any one": "_" * 40,
    "pattern": "^.*(a+)+$",
    "path": "../../../../etc/passwd",
    "identifier": 'veraz"."document',
    "configuration": "pg_catalog.english",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "number": "9" * 400,
    "date": "infinity",
    "nul": "a\0b",
    "surrogate": "a\ud800b",
    "right to left": "\u202etxet\u2066",
    "long": "x' or " * 4_000,
    "blank": " \t\n\u00a0",
    "empty": "",
}
parametrised = pytest.mark.parametrize("payload", [pytest.param(p, id=n) for n, p in PAYLOADS.items()])


@pytest.fixture
async def insider(visited: tuple[str, World]) -> AsyncIterator[tuple[AsyncVeraz, World]]:
    url, world = visited
    async with await databases.open_engine(url) as engine:
        yield engine.acting_as(world.identity("public")), world


_tenants = itertools.count()


@pytest.fixture
async def own(visited: tuple[str, World]) -> AsyncIterator[AsyncVeraz]:
    """Acting in a tenant that holds nothing yet."""
    async with await databases.open_engine(visited[0]) as engine:
        yield engine.acting_as(await engine.ensure_tenant(f"own{next(_tenants)}"))


@pytest.fixture
def unchanged(visited: tuple[str, World]) -> Iterator[None]:
    """Traces are all that reading leaves."""

    def state() -> list[tuple[Any, ...]]:
        with besieging(*visited) as siege:
            return [row for row in siege.state_of_others(None) if row[0] != "trace"]

    before = state()
    yield
    assert state() == before


def reading(engine: AsyncVeraz, payload: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Every call that reads, with the payload in each place."""
    many = (payload, "public", payload)
    filters = {
        "sources": Filters(sources=many),
        "langs": Filters(langs=many),
        "licenses": Filters(licenses=many),
        "jurisdictions": Filters(jurisdictions=many),
        "authority": Filters(authority=10**30),
        "no authority": Filters(authority=-(10**30)),
        "dates": Filters(
            revised_from=date.max, revised_to=date.min, published_from=date.min, published_to=date.max
        ),
    }
    return {
        "search": lambda: engine.search(f"{payload} {WORD}", explain=True),
        "search alone": lambda: engine.search(payload, exact=True),
        "search lang": lambda: engine.search(WORD, lang=payload),
        "search as of": lambda: engine.search(payload, lang="en", as_of=date(2024, 6, 1)),
        "ask": lambda: engine.ask(f"What is {payload} of {WORD}?", lang="en"),
        "ask lang": lambda: engine.ask(f"What is the {WORD}?", lang=payload),
        "show": lambda: engine.show(payload),
        "show source": lambda: engine.show(marker("pay"), source=payload),
        "trace": lambda: engine.trace(payload),
        "explain trace": lambda: engine.explain_trace(payload),
        **{f"filter {n}": lambda f=f: engine.search(WORD, lang="en", filters=f) for n, f in filters.items()},  # type: ignore[misc]
    }


@parametrised
async def test_reading(insider: tuple[AsyncVeraz, World], unchanged: None, payload: str) -> None:  # noqa: ARG001
    engine, world = insider
    for call, run in reading(engine, payload).items():
        said = await told(run())  # raises what is no VerazError
        echo = repr(said)
        for written in (
            repr(payload)[1:-1],
            marker("pay") if call == "show source" else "",
            repr(payload[:80])[1:-1],
        ):
            echo = (
                echo.replace(written, "") if written else echo
            )  # what the caller wrote is repeated to the caller
        assert leaked(world, world.identity("public"), echo) == [], call
        if call.startswith("filter") and call not in ("filter authority", "filter no authority"):
            assert said.hits == () if not isinstance(said, str) else said, call


@parametrised
async def test_deleting(insider: tuple[AsyncVeraz, World], unchanged: None, payload: str) -> None:  # noqa: ARG001
    engine, _ = insider
    for external_id, source in ((payload, "s"), (marker("open"), payload), (payload, payload)):
        said = await told(engine.delete(external_id, source=source))
        assert said is False or "cannot be stored" in said, (external_id, source)


@parametrised
async def test_writing(own: AsyncVeraz, tmp_path: Path, payload: str) -> None:
    """A document that says it everywhere is one document of its own tenant, found by what it says, opened by its labels alone."""
    other = await own.ensure_tenant(f"other{next(_tenants)}")
    await put(own, record("theirs", "The other tenant's text."), identity=other)
    await put(own, record("mine", "A text that was there before.", acl=["hr"]))
    line = {
        "id": f"id {payload}",
        "title": f"t {payload}",
        "text": f"The {WORD} of {payload}",
        "url": payload,
        "license": payload,
        "jurisdiction": payload,
        "publisher": payload,
        "document_type": payload,
        "supersedes": f"id of {payload}",
        "item": payload or None,
        "edition": payload,
        "lang": "en",
        "note": {payload: [payload, {payload: payload}]},
        payload: payload,
    }
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    stated = {"name": f"n {payload}", "license": payload, "base_url": payload, "jurisdiction": payload}
    report = await told(own.ingest(path, source="s", **stated))
    if isinstance(report, str):
        assert "cannot be stored" in report
        report = await own.ingest(path, source="s")
    assert (report.new, report.failed) in ((1, 0), (0, 1)), report
    assert "psycopg" not in repr(report.errors)
    assert "Traceback" not in repr(report.errors)
    kept = await rows(own, "select external_id from veraz.document where acl <> '{hr}'")
    assert len(kept) == report.new
    if kept:
        found = await own.search(WORD, lang="en")
        assert [h.document.external_id for h in found.hits[:1]] == [kept[0][0]]
        assert (await own.show(kept[0][0])).external_id == kept[0][0]
        assert await own.delete(kept[0][0], source="s")
    assert await rows(own, "select deleted_at from veraz.document where external_id = 'mine'") == [(None,)]
    assert (await own.acting_as(other).show("theirs")).external_id == "theirs"


@parametrised
async def test_labels_and_names(own: AsyncVeraz, tmp_path: Path, payload: str) -> None:
    """What is no label, slug or tenant is refused with the fix; what is one opens to its own spelling alone."""
    path = tmp_path / "a.md"
    path.write_text(f"# A\n\nThe {WORD} of a.", encoding="utf-8")
    for settings in ({"acl": [payload]}, {"owner": payload}, {"acl": [payload, "x"], "acl_rule": "all"}):
        said = await told(own.ingest(path, source="s", **settings))
        if not isinstance(said, str):
            assert (await own.search(WORD, lang="en")).hits == ()
    said = await told(own.ingest(path, source=payload))
    assert (
        set(payload) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
        if not isinstance(said, str)
        else "not a slug" in said
    )
    config = databases.config(own._database.url, tenant=payload if payload.strip() else "-")
    with pytest.raises(VerazError, match=r"no tenant|cannot be stored"):
        async with await AsyncVeraz.open(config=config, embedder=await own._open_embedder()) as other:
            await other.search(WORD, lang="en")
