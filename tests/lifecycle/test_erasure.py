"""After an erasure no column of any table holds a word of the text, for anybody; the rest stays in order."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.support import databases, oracle
from tests.support.chat_server import FakeChatServer, Reply, saying
from tests.support.corpus import maintenance_rows, put, record, rows
from tests.support.hashing import HashingEmbedder
from tests.support.judged import made_run, with_results
from tests.support.logins import login

from veraz.config import ChatConfig, IngestConfig
from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.evaluation.runs import store as runs

MARK = "zyxquork"
TEXT = f"# The {MARK}\n\nThe {MARK} dose is eleven of the fever rule.\n\n## More {MARK}\n\nNothing else."


def tables_with(url: str, word: str) -> set[str]:
    """Every table of the database, system catalogues included, with a row whose text or bytes hold the word."""
    found = set()
    with psycopg.connect(url, autocommit=True) as superuser:
        names = superuser.execute(
            "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where c.relkind in ('r', 'p', 'm', 't') and n.nspname <> 'information_schema'"
        ).fetchall()
        assert {("veraz", "revision"), ("veraz", "embedding_1"), ("pg_catalog", "pg_statistic")} <= set(names)
        for schema, name in names:
            column = sql.SQL("chunk_data" if schema == "pg_toast" else "t")
            query = sql.SQL("select exists (select from {} t where {}::text ilike any (%s))")
            patterns = [f"%{word}%", f"%{word.encode().hex()}%"]
            row = superuser.execute(query.format(sql.Identifier(schema, name), column), [patterns]).fetchone()
            if row is not None and row[0]:
                found.add(f"{schema}.{name}")
    return found


@pytest.fixture
async def filled(engine: AsyncVeraz, eager_engine: AsyncVeraz) -> AsyncVeraz:
    """A document with two revisions, merged and not, analysed, searched and answered from; it replaced another one."""
    await put(
        engine, record("old", "The fever rule of before."), record("other", "The fever rule of others.")
    )
    await put(engine, record("secret", TEXT, title=f"Title {MARK}", format="markdown", supersedes="old"))
    await engine.merge_index()
    again = TEXT.replace("eleven", f"twelve {MARK}s")
    await put(engine, record("secret", again, title=f"Title {MARK}", format="markdown", supersedes="old"))
    async with engine._database.administration() as connection:
        await connection.execute("vacuum analyze")
    await engine.search(f"the dose of {MARK}", lang="en", explain=True)
    answer = await eager_engine.ask(f"What is the {MARK} dose?", lang="en")
    assert answer.citations
    evaluated = made_run(
        {"q1": ["secret", "old"]}, {"q1": {"secret": 1}}, texts={"q1": f"the dose of {MARK}"}
    )
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await runs.insert(connection, with_results(evaluated))
    return engine


async def test_no_column_of_any_table_holds_a_word_of_it(filled: AsyncVeraz, database: str) -> None:
    before = tables_with(database, MARK)
    assert {
        f"veraz.{t}"
        for t in ("revision", "section", "chunk", "chunk_lexical", "lexeme_stat", "trace", "eval_query")
    } <= before
    assert "pg_catalog.pg_statistic" not in before, "the planner's samples never hold text"
    erased = await filled.erase("secret", source="s")
    assert erased is not None
    assert (erased.revisions, erased.chunks, erased.traces) == (2, 4, 2)
    assert tables_with(database, MARK) == set()


@pytest.mark.parametrize("stopped", [False, True], ids=["written", "stopped before it was written"])
async def test_no_column_holds_what_a_model_wrote_of_it(database: str, stopped: bool) -> None:
    """Neither of the revision that is stored, nor of one that never came to be."""
    with FakeChatServer(lambda q: saying(f"About {MARK}s of {q.passage[:5]}.")) as chat:
        config = databases.config(
            database,
            ingest=IngestConfig(isolated=False, context="llm", context_failure="refuse"),
            chat=ChatConfig(url=chat.url, model="m", max_wait=0),
        )
        async with await AsyncVeraz.open(config=config, embedder=HashingEmbedder()) as engine:
            both = "## Dose\n\nTake two of it.\n\n## Storage\n\nKeep it cold."
            await put(engine, record("secret", both, format="markdown"), record("other", "Another text."))
            if stopped:
                refused = lambda q: Reply(400, {}) if "three" in q.passage else saying(f"On {MARK}.")  # noqa: E731
                chat.behaviour = refused
                again = both.replace("two", "three").replace("cold", "warm")
                report = await put(engine, record("secret", again, format="markdown"), clean=False)
                assert report.failed == 1
            await engine.merge_index()
            async with engine._database.administration() as connection:
                await connection.execute("vacuum analyze")
            held = {f"veraz.{t}" for t in ("chunk", "chunk_lexical", "lexeme_stat")}
            assert tables_with(database, MARK) == held | ({"veraz.context_draft"} if stopped else set())
            other = await rows(engine, "select context from veraz.chunk where body = 'Another text.'")
            assert other == [(f"About {MARK}s of Anoth.",)]
            assert await engine.erase("secret", source="s") is not None
            assert tables_with(database, f"{MARK}s of Take") == set()
            assert tables_with(database, f"On {MARK}") == set()
            await engine.erase("other", source="s")
            assert tables_with(database, MARK) == set()


async def test_what_was_not_erased_is_whole(filled: AsyncVeraz) -> None:
    await filled.erase("secret", source="s")
    found = await filled.search("fever rule", lang="en")
    assert [h.document.external_id for h in found.hits] == ["other"], "what it replaced stays replaced"
    await oracle.check_postings(filled, merged=False)
    await oracle.check_scores(filled, [("fever rule", "en"), ("nothing else", "en")])
    words = {row[0] for row in await rows(filled, "select lexeme from veraz.lexeme_stat")}
    assert {"fever", "rule", "other"} <= words, "words that others have stay in the vocabulary"
    shown = await filled.show("old", source="s")
    assert (shown.superseded_by, shown.supersession_pinned) == ("secret", True)
    assert shown.successor_erased_at is not None
    await put(filled, record("old", "The fever rule of before, reworded."))
    assert len((await filled.search("fever rule", lang="en")).hits) == 1


async def test_vectors_go_with_the_text(filled: AsyncVeraz) -> None:
    count = "select count(*) from veraz.embedding_1"
    before = (await rows(filled, count))[0][0]
    await filled.erase("secret", source="s")
    assert (await rows(filled, count))[0][0] == before - 4
    assert (
        await rows(
            filled,
            "select c.chunk_id from veraz.chunk_lexical l left join veraz.chunk c using (chunk_id) where c is null",
        )
        == []
    )


async def test_traces_keep_ids_and_lose_every_text(filled: AsyncVeraz) -> None:
    before = await rows(filled, "select trace_id, record from veraz.trace order by trace_id")
    await filled.search("others", lang="en", filters=None)
    await filled.erase("secret", source="s")
    after = dict(await rows(filled, "select trace_id, record from veraz.trace"))
    for trace_id, record_ in before:
        kept = after[trace_id]
        assert [h["chunk_id"] for h in kept["hits"]] == [h["chunk_id"] for h in record_["hits"]]
        assert [h["score"] for h in kept["hits"]] == [h["score"] for h in record_["hits"]]
        for ours, theirs in zip(kept.get("citations", ()), record_.get("citations", ()), strict=True):
            assert {k: ours[k] for k in ("n", "external_id", "revision", "start", "end")} == {
                k: theirs[k] for k in ("n", "external_id", "revision", "start", "end")
            }
            assert "url" not in ours
        assert not {"reason", "notes", "route"} & kept.keys()
        explained = await filled.explain_trace(str(trace_id))
        assert explained["question"] == "[erased]"
        assert all(not c["available"] for c in explained.get("citations", ()))


@pytest.mark.parametrize(
    "field",
    [
        {"notes": [MARK]},
        {"reason": MARK},
        {"invented": {"deep": MARK}},
        {"dropped": [{"why": MARK, "text": MARK}]},
    ],
)
async def test_a_text_in_any_field_of_a_trace_goes(
    filled: AsyncVeraz, database: str, field: dict[str, Any]
) -> None:
    """Also in one that a later version adds."""
    with psycopg.connect(database, autocommit=True) as superuser:
        superuser.execute("update veraz.trace set record = record || %s", [json.dumps(field)])
        superuser.execute(
            "update veraz.trace set record = jsonb_set(record, '{hits,0,invented}', %s)", [json.dumps(MARK)]
        )
    await filled.erase("secret", source="s")
    assert tables_with(database, MARK) == set()


async def test_traces_of_every_role_are_cleaned_and_those_of_others_are_not(filled: AsyncVeraz) -> None:
    await filled.search("others", lang="en", k=1, mode="lexical")
    unrelated = "select count(*) from veraz.trace where question = 'others'"
    async with filled._database.maintenance() as connection:
        await connection.execute("update veraz.trace set roles = '{board}' where question <> 'others'")
    erased = await filled.erase("secret", source="s")
    assert erased is not None
    assert erased.traces == 2
    assert await maintenance_rows(filled, unrelated) == [(1,)]
    assert await maintenance_rows(filled, "select count(*) from veraz.trace where question = '[erased]'") == [
        (2,)
    ]


async def test_an_erased_id_comes_back_only_when_it_is_allowed_to(filled: AsyncVeraz) -> None:
    await filled.delete("secret", source="s", erase=True)
    report = await put(filled, record("secret", "The fever rule, new."), clean=False)
    assert [(e.external_id, e.stage) for e in report.errors] == [("secret", "store")]
    assert "veraz restore" in report.errors[0].reason
    restored = await filled.restore("secret", source="s")
    assert restored.text_is_gone
    with pytest.raises(UsageError, match="no document"):
        await filled.show("secret", source="s")
    assert (await put(filled, record("secret", "The fever rule, new."))).documents == 1
    shown = await filled.show("secret", source="s")
    assert shown.current_revision == 3, "numbers go on, so that no old citation finds another text"
    with pytest.raises(UsageError, match="revision 2 of 'secret' was purged"):
        await filled.show("secret", source="s", revision=2)


async def test_an_old_trace_never_quotes_the_text_that_came_after(filled: AsyncVeraz) -> None:
    [(trace_id,)] = await rows(filled, "select trace_id from veraz.trace where kind = 'ask'")
    await filled.erase("secret", source="s")
    await filled.restore("secret", source="s")
    await put(filled, record("secret", TEXT.replace(MARK, "tradename"), format="markdown"))
    explained = await filled.explain_trace(str(trace_id))
    assert explained["citations"]
    assert [(c["quote"], c["purged"]) for c in explained["citations"]] == [(None, True)] * len(
        explained["citations"]
    )


async def test_erasing_again_finds_nothing_left_and_an_unknown_id_is_no_erasure(filled: AsyncVeraz) -> None:
    await filled.erase("secret", source="s")
    again = await filled.erase("secret", source="s")
    assert again is not None
    assert (again.revisions, again.chunks) == (0, 0)
    assert again.erased_before is not None
    assert await filled.delete("secret", source="s", erase=True) is False
    assert await filled.erase("secret", source="elsewhere") is None
    with pytest.raises(ItemError, match="no such document"):
        await filled.restore("nothing", source="s")


async def test_another_tenants_document_of_the_same_id_is_untouched(filled: AsyncVeraz) -> None:
    beta = await filled.ensure_tenant("beta")
    await put(filled, record("secret", "The betaword."), identity=beta)
    other = filled.acting_as(beta)
    await other.search("betaword", lang="en")
    await filled.erase("secret", source="s")
    assert len((await other.search("betaword", lang="en", trace=False)).hits) == 1
    assert await rows(other, "select question from veraz.trace") == [("betaword",)]


async def test_a_reader_from_before_is_reported(filled: AsyncVeraz, database: str) -> None:
    with psycopg.connect(database) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from veraz.tenant")
        erased = await filled.erase("secret", source="s")
    assert erased is not None
    assert erased.remains is not None
    assert "older transactions" in erased.remains


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("rights", [(), ("pg_read_all_stats",)])
async def test_a_reader_of_another_login_is_reported_to_who_is_no_superuser(
    database: str, rights: tuple[str, ...]
) -> None:
    """Such a login is not told what kind of session another one's is."""
    members = ("veraz_owner", "veraz_ops", "veraz_app", *rights)
    with login(database, member_of=members) as url, psycopg.connect(database) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from veraz.tenant")
        async with await databases.open_engine(url) as engine:
            erased = await engine.erase("secret", source="s")
        assert erased is not None
        assert erased.remains is not None
        assert "1 older transactions" in erased.remains
        reader.rollback()
        async with await databases.open_engine(url) as engine:
            again = await engine.erase("secret", source="s")
    assert again is not None
    assert again.remains is None
