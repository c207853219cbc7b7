"""Random expressions over random documents: each way of searching finds exactly what an evaluation in Python lets through."""

from __future__ import annotations

import asyncio
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.config import FiltersConfig, SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.question import Filters
from veraz.search import store
from veraz.search.fusion import Candidate
from veraz.search.syntax import read

LICENSES = ["cc0", "CC-BY", "ärztlich", None]
JURISDICTIONS = ["es", "us", None]
TITLES = ["Dosage", "dosis pediátrica", "it's 100%", "Über_alles"]
HEADINGS = ["Contraindications", "Contraindicación", "Dosage", "Notes"]
PARTS = ["contra", "DOSAGE", "%", "_", "á", "it's", "zz", "indicacion"]
DAYS = [date(2019, 5, 31), date(2021, 1, 1), date(2023, 2, 28), date(2024, 2, 29)]
LANGS = ["en", "fr", "und"]
META: Mapping[str, list[Any]] = {
    "m_text": [
        "security",
        "Privacy",
        5,
        2.5,
        True,
        ["a"],
        {"k": 1},
        None,
        "'; drop table veraz.document; --",
    ],
    "m_number": [1, 2.5, -3, "4", "+1", "4x", "1e3", True, [4], None, 10**25],
    "m_date": [
        "2021-01-01",
        "2023-02-28T10:00",
        "2023-02-30",
        "0000-01-01",
        "2024-02-29",
        "soon",
        2021,
        None,
    ],
    "m_flag": [True, False, "true", "FALSE", "yes", 1, None],
    "m_tags": [["a", "b"], ["a"], [], "a", [1, "b", None, {"c": 1}], {"a": 1}, None, 7],
}
DECLARED = {
    "m_number": "number",
    "m_date": "date",
    "m_flag": "boolean",
    "m_tags": "list",
    "m_deep.inner": "number",
}
AUTHORITY = {"low": 2, "high": 5}
TODAY_MEANT = timedelta(days=365)


def documents() -> list[dict[str, Any]]:
    chance, made = random.Random(5), []
    for n in range(48):
        meta = {key: chance.choice(values) for key, values in META.items() if chance.random() < 0.8}
        if chance.random() < 0.5:
            meta["m_deep"] = {"inner": chance.choice([1, 2.5, "x"])}
        stated = {
            "license": chance.choice(LICENSES),
            "jurisdiction": chance.choice(JURISDICTIONS),
            "published_at": chance.choice([*DAYS, None]),
            "revised_at": chance.choice([*DAYS, None]),
            "acl": chance.choice([["public"], ["public", "hr"]]),
        }
        headings = chance.sample(HEADINGS, 2)
        text = "\n\n".join(f"## {h}\n\nCommon words of part {n} {i}." for i, h in enumerate(headings))
        made.append(
            {
                "source": chance.choice(list(AUTHORITY)),
                "lang": chance.choice(LANGS),
                "record": {
                    **record(f"d{n}", text, format="markdown"),
                    "title": chance.choice(TITLES),
                    **{k: str(v) if isinstance(v, date) else v for k, v in stated.items() if v is not None},
                    **meta,
                },
                "stated": stated,
                "meta": meta,
            }
        )
    return made


@dataclass(frozen=True)
class Chunk:
    chunk_id: UUID
    heading: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class World:
    runner: asyncio.Runner
    engine: AsyncVeraz
    chunks: Sequence[Chunk]


@pytest.fixture(scope="module")
def world(server: str, template: str) -> Iterator[World]:
    made = documents()
    with databases.fresh(server, template) as url, asyncio.Runner() as runner:
        engine = runner.run(filled(url, made))
        chunks = runner.run(stored_chunks(engine, made))
        assert len(chunks) == 96
        yield World(runner, engine, chunks)
        runner.run(engine.close())


async def filled(url: str, made: Sequence[Mapping[str, Any]]) -> AsyncVeraz:
    engine = await databases.open_engine(
        url,
        filters=FiltersConfig(meta=DECLARED),
        search=SearchConfig(pool=500),  # type: ignore[arg-type]
    )
    for source, authority in AUTHORITY.items():
        own = [d["record"] for d in made if d["source"] == source]
        await put(
            engine, *own, source=source, authority=authority, license="of-source" if source == "low" else None
        )
    await put(engine, record("hidden", "Common words of nobody.", acl=["secret"]), source="low", authority=2)
    with psycopg.connect(url) as admin:  # as where no language was found
        for document in made:
            admin.execute(
                "update veraz.revision r set lang = %s from veraz.document d"
                " where d.external_id = %s and r.document_id = d.document_id",
                [document["lang"], document["record"]["id"]],
            )
    return engine


async def stored_chunks(engine: AsyncVeraz, made: Sequence[Mapping[str, Any]]) -> list[Chunk]:
    known = {d["record"]["id"]: d for d in made}
    found = await rows(
        engine,
        "select c.chunk_id, c.heading_path, d.external_id from veraz.chunk c"
        " join veraz.document d using (tenant_id, document_id)",
    )
    return [Chunk(key, tuple(path), known[name]) for key, path, name in found if name in known]


# --- what an expression means, said a second time

Meets = Callable[[Chunk], bool]
Written = tuple[str, Meets]


def folded(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return plain.lower()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def text_of(field: str, chunk: Chunk) -> str | None:
    document = chunk.document
    if field == "license":
        own = document["stated"]["license"]
        return own if own is not None else ("of-source" if document["source"] == "low" else None)
    if field == "m_text":
        value = document["meta"].get("m_text")
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, str | int | float) else None
    own_text: str | None = {
        "source": document["source"],
        "document": document["record"]["id"],
        "title": document["record"]["title"],
        "lang": document["lang"],
        "jurisdiction": document["stated"]["jurisdiction"],
    }[field]
    return own_text


def number_of(field: str, chunk: Chunk) -> float | None:
    if field == "authority":
        return AUTHORITY[chunk.document["source"]]
    if field == "m_deep.inner":
        value = chunk.document["meta"].get("m_deep", {}).get("inner")
    else:
        value = chunk.document["meta"].get("m_number")
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return {"4": 4, "+1": 1}.get(value)
    return value if isinstance(value, int | float) else None


def day_of(field: str, chunk: Chunk) -> date | None:
    if field != "m_date":
        stated: date | None = chunk.document["stated"][field]
        return stated
    value = chunk.document["meta"].get("m_date")
    known = {"2021-01-01": DAYS[1], "2023-02-28T10:00": DAYS[2], "2024-02-29": DAYS[3]}
    return known.get(value) if isinstance(value, str) else None


def flag_of(chunk: Chunk) -> bool | None:
    value = chunk.document["meta"].get("m_flag")
    return value if isinstance(value, bool) else {"true": True, "FALSE": False}.get(str(value))


def list_of(field: str, chunk: Chunk) -> list[str] | None:
    if field == "heading":
        return list(chunk.heading)
    if field == "labels":
        labels: list[str] = chunk.document["stated"]["acl"]
        return labels
    value = chunk.document["meta"].get("m_tags")
    if isinstance(value, list):
        return [str(v) for v in value if isinstance(v, str | int)]
    return None if value is None or isinstance(value, dict) else [str(value)]


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def named(field: str) -> str:
    return f"meta.{field}" if field.startswith("m_") else field


@st.composite
def texts(draw: st.DrawFn) -> Written:
    field = draw(
        st.sampled_from(["source", "document", "title", "lang", "license", "jurisdiction", "m_text"])
    )
    pool = [
        "low",
        "d3",
        "security",
        "5",
        "2.5",
        "true",
        *TITLES,
        "en",
        "fr",
        "und",
        "cc0",
        "ärztlich",
        "of-source",
        "es",
        "x' or 'a' = 'a",
    ]
    how = draw(st.sampled_from(["=", "in", "~", "is null"]))
    if how == "is null":
        if field == "lang":
            return "lang is null", lambda c: c.document["lang"] == "und"
        return f"{named(field)} is null", lambda c: text_of(field, c) is None
    if how == "in":
        values = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4))
        return f"{named(field)} in ({', '.join(map(quoted, values))})", lambda c: text_of(field, c) in values
    if how == "~":
        part = draw(st.sampled_from(PARTS))
        return f"{named(field)} ~ {quoted(part)}", lambda c: folded(part) in folded(text_of(field, c) or "")
    value = draw(st.sampled_from(pool))
    return f"{named(field)} = {quoted(value)}", lambda c: text_of(field, c) == value


@st.composite
def ordered(draw: st.DrawFn) -> Written:
    """Numbers and dates."""
    is_day = draw(st.booleans())
    field = draw(
        st.sampled_from(
            ["published_at", "revised_at", "m_date"] if is_day else ["authority", "m_number", "m_deep.inner"]
        )
    )
    of: Callable[[str, Chunk], Any] = day_of if is_day else number_of
    pool: list[Any] = DAYS if is_day else [-3, 1, 2, 2.5, 4, 5]
    how = draw(st.sampled_from([*COMPARE, "in", "between", "is null"]))
    if how == "is null":
        return f"{named(field)} is null", lambda c: of(field, c) is None
    if how == "in":
        values = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
        return f"{named(field)} in ({', '.join(map(str, values))})", lambda c: of(field, c) in values
    if how == "between":
        low, high = sorted(draw(st.tuples(st.sampled_from(pool), st.sampled_from(pool))))
        return (
            f"{named(field)} between {low} and {high}",
            lambda c: (v := of(field, c)) is not None and low <= v <= high,
        )
    value = draw(st.sampled_from(pool))
    return (
        f"{named(field)} {how} {value}",
        lambda c: (v := of(field, c)) is not None and COMPARE[how](v, value),
    )


@st.composite
def relative(draw: st.DrawFn) -> Written:
    days, how = draw(st.integers(0, 4000)), draw(st.sampled_from(list(COMPARE)))
    return (
        f"revised_at {how} today - {days} days",
        lambda c: (
            (v := day_of("revised_at", c)) is not None and COMPARE[how](v, today() - timedelta(days=days))
        ),
    )


def today() -> date:
    from datetime import UTC, datetime

    return datetime.now(UTC).date()


@st.composite
def flags(draw: st.DrawFn) -> Written:
    value = draw(st.sampled_from([True, False, None]))
    if value is None:
        return "meta.m_flag is null", lambda c: flag_of(c) is None
    return f"meta.m_flag = {str(value).lower()}", lambda c: flag_of(c) is value


@st.composite
def lists(draw: st.DrawFn) -> Written:
    field = draw(st.sampled_from(["heading", "labels", "m_tags"]))
    how = draw(st.sampled_from(["any", "all", "~", "is null"]))
    if how == "is null":
        return f"{named(field)} is null", lambda c: not list_of(field, c)
    if how == "~":
        part = draw(st.sampled_from(PARTS))
        return f"{named(field)} ~ {quoted(part)}", lambda c: any(
            folded(part) in folded(v) for v in list_of(field, c) or ()
        )
    values = draw(
        st.lists(st.sampled_from([*HEADINGS, "public", "hr", "a", "b", "1", "7"]), min_size=1, max_size=3)
    )
    join = any if how == "any" else all
    return (
        f"{named(field)} {how} ({', '.join(map(quoted, values))})",
        lambda c: (own := list_of(field, c)) is not None and join(v in own for v in values),
    )


def combined(parts: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    def joint(word: str, members: list[Written]) -> Written:
        join = all if word == "and" else any
        return f" {word} ".join(f"({text})" for text, _ in members), lambda c: join(
            meets(c) for _, meets in members
        )

    return st.one_of(
        parts.map(lambda part: (f"not ({part[0]})", lambda c: not part[1](c))),
        st.builds(joint, st.sampled_from(["and", "or"]), st.lists(parts, min_size=2, max_size=3)),
    )


expressions = st.recursive(
    st.one_of(texts(), ordered(), relative(), flags(), lists()), combined, max_leaves=6
)


# --- and what each way of searching finds


@settings(max_examples=75, deadline=None)
@given(written=expressions)
def test_every_way_of_searching_finds_what_the_expression_lets_through(
    world: World, written: Written
) -> None:
    expression, meets = written
    wanted = {c.chunk_id for c in world.chunks if meets(c)}
    for way, found in world.runner.run(every_way(world.engine, expression)).items():
        assert found == wanted, f"{way}: {expression}"


async def every_way(engine: AsyncVeraz, expression: str) -> dict[str, set[UUID]]:
    filters = engine._resolved(Filters(where=expression))
    vector = (await (await engine._open_embedder()).embed(["common words"], "query")).vectors[0]
    space = (await engine.space()).space_id
    lexical = store.LexicalQuestion("common", "en", 500, 1_000_000, 1000)
    near = store.SemanticQuestion(vector, space, 500, 200, 40_000, exact=False)
    marks = store.Condition(read('"common words" -nowhere').condition or "", "en", selective=True)
    marked = replace(lexical, condition=marks), replace(near, condition=marks)
    async with engine._database.transaction(await engine.identity()) as connection:
        arms = await store.run_arms(connection, filters, lexical, near)
        signs = await store.run_arms(connection, filters, None, replace(near, kind="binary"))
        quoted = await store.run_arms(connection, filters, *marked)
        quoted_narrow = await store.narrow(connection, filters, *marked)
        quoted_day = await store.run_arms_as_of(connection, filters, *marked, date(2200, 1, 1))
        narrow = await store.narrow(connection, filters, lexical, near)
        day = await store.run_arms_as_of(connection, filters, lexical, near, date(2200, 1, 1))
        permitted = await store.lexical_permitted(connection, filters, lexical)
        exact = await store.semantic_exact(connection, filters, near)
    assert narrow.semantic == exact
    assert [(c.chunk_id, round(c.score, 4)) for c in narrow.lexical or ()] == [
        (c.chunk_id, round(c.score, 4)) for c in permitted
    ]
    found: dict[str, Sequence[Candidate] | None] = {
        "lexical": arms.lexical,
        "semantic": arms.semantic,
        "semantic, signs": signs.semantic,
        "quoted, lexical": quoted.lexical,
        "quoted, semantic": quoted.semantic,
        "documents first, quoted, lexical": quoted_narrow.lexical,
        "documents first, quoted, semantic": quoted_narrow.semantic,
        "a day, quoted, lexical": quoted_day.lexical,
        "a day, quoted, semantic": quoted_day.semantic,
        "documents first, lexical": narrow.lexical,
        "documents first, semantic": narrow.semantic,
        "a day, lexical": day.lexical,
        "a day, semantic": day.semantic,
        "lexical repaired": permitted,
        "semantic exact": exact,
    }
    return {way: {c.chunk_id for c in candidates or ()} for way, candidates in found.items()}


@settings(max_examples=25, deadline=None)
@given(written=expressions)
def test_each_chunk_meets_an_expression_or_its_opposite(world: World, written: Written) -> None:
    expression, _ = written
    whole = {c.chunk_id for c in world.chunks}
    found = [
        world.runner.run(every_way(world.engine, e))["documents first, semantic"]
        for e in (expression, f"not ({expression})")
    ]
    assert found[0] | found[1] == whole
    assert not found[0] & found[1]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("not lang = 'fr'", lambda lang: lang != "fr"),
        ("lang != 'fr'", lambda lang: lang != "fr"),
        ("lang not in ('fr', 'en')", lambda lang: lang == "und"),
        ("lang is null", lambda lang: lang == "und"),
        ("lang = 'und'", lambda lang: lang == "und"),
        ("lang is not null and not lang = 'fr'", lambda lang: lang == "en"),
    ],
)
def test_a_document_without_language_is_in_no_language(
    world: World, expression: str, wanted: Callable[[str], bool]
) -> None:
    for way, found in world.runner.run(every_way(world.engine, expression)).items():
        assert found == {c.chunk_id for c in world.chunks if wanted(c.document["lang"])}, way
    assert any(c.document["lang"] == "und" for c in world.chunks)


HOSTILE = [
    "'; drop table veraz.document; --",
    "' or true --",
    "') or ('1'='1",
    "%(pool)s %s %% {conditions} {0} $1",
    "\\x00 \\' E'\\''",
    "null",
    '{"a": 1}',
    "{public}",
    "a" * 5000,
    "\u202e\u200b\U0001f9ec",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_values_and_keys_are_values_and_keys(world: World, value: str) -> None:
    """Nothing of them is read as SQL, a format or an array: equal to nothing, and unequal to all."""
    whole = {c.chunk_id for c in world.chunks}
    held = {c.chunk_id for c in world.chunks if c.document["meta"].get("m_text") == value}
    said = quoted(value)
    key = value.replace('"', "").replace("\\", "")[:100]
    for expression, wanted in (
        (f"meta.m_text = {said}", held),
        (f"not meta.m_text in ({said}, 'x')", whole - held),
        (f"title ~ {said}", set()),
        (f"heading any ({said})", set()),
        (f"labels all ({said})", set()),
        (f'meta."{key}" is null', whole),
        (f'meta."{key}".a = {said}', set()),
    ):
        for way, found in world.runner.run(every_way(world.engine, expression)).items():
            assert found == wanted, f"{way}: {expression[:200]}"
    assert len(world.runner.run(stored_chunks(world.engine, documents()))) == len(whole)


def test_what_is_stored_is_what_was_made(world: World) -> None:
    """The evaluation in Python rests on the records: they are stored as they were stated."""
    stored = world.runner.run(
        rows(
            world.engine,
            "select d.external_id, r.meta::text from veraz.document d join veraz.revision r using (document_id)",
        )
    )
    by_name = {name: json.loads(meta) for name, meta in stored}
    for chunk in world.chunks:
        document = chunk.document
        own = {k: v for k, v in by_name[document["record"]["id"]].items() if k.startswith("m_")}
        assert own == msgspec.to_builtins(document["meta"])
