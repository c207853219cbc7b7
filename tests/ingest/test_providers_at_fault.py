"""Ingest and search against an embedding server that misbehaves (public cases H25 to H29)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.providers.embedders.fake_server import (
    FakeEmbeddingServer,
    Reply,
    altered,
    answer,
    delayed,
    fake_vector,
    first,
)
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.config import EmbedderConfig
from veraz.engine import AsyncVeraz
from veraz.errors import ConfigError, MalformedResponse, RateLimited


async def opened(url: str, server: FakeEmbeddingServer, *, init: bool = True, **options: Any) -> AsyncVeraz:
    settings = {
        "model": server.model,
        "dimensions": server.dimension,
        "base_url": server.url,
        "api_key": "k",
        **options,
    }
    config = databases.config(url, embedder=EmbedderConfig(name="openai", options=settings))
    engine = await AsyncVeraz.open(config=config)
    if init:
        await engine.init()
    return engine


def texts(count: int) -> list[dict[str, Any]]:
    return [record(f"d{i}", f"Paragraph number{i} is about topic{i}.") for i in range(count)]


async def stored_vectors(engine: AsyncVeraz) -> list[tuple[str, Any]]:
    return await rows(
        engine,
        "select concat_ws(E'\\n\\n', nullif(header, ''), display), vec::real[]"
        " from veraz.chunk join veraz.embedding_1 using (tenant_id, chunk_id) where chunk.is_current",
    )


async def test_no_blank_text_is_ever_sent(empty_database: str, tmp_path: Path, cases: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_bytes((cases / "h_whitespace_only.txt").read_bytes())
    (tmp_path / "mixed.md").write_bytes((cases / "h_blank_section.md").read_bytes())
    with FakeEmbeddingServer() as server:
        async with await opened(empty_database, server) as engine:
            report = await engine.ingest([str(tmp_path)], source="s", lang="en")
            assert {Path(e.path).name for e in report.errors} == {"empty.txt", "blank.txt"}
            assert all("no content" in e.reason for e in report.errors)
            assert report.documents == 1
            found = await engine.search("when was the pump serviced", lang="en", k=50)
            assert any("Pump 3 was serviced" in h.body for h in found.hits)
        assert server.texts
        assert all(text.strip() for text in server.texts)


async def test_vectors_are_paired_by_index(empty_database: str) -> None:
    with FakeEmbeddingServer(behaviour=altered(lambda data: data[::-1])) as server:
        async with await opened(empty_database, server) as engine:
            await put(engine, *texts(5))
            for text, vector in await stored_vectors(engine):
                np.testing.assert_allclose(vector, fake_vector(text), atol=2e-3)
                found = await engine.search(text, lang="en", mode="semantic", k=1)
                assert found.hits[0].body in text


MALFORMED = {
    "one item too few": lambda data: data[:-1],
    "a duplicate index": lambda data: [*data, data[0]],
    "a vector of wrong length": lambda data: [*data[:-1], {**data[-1], "embedding": [0.1] * 7}],
    "a value that is not finite": lambda data: [*data[:-1], {**data[-1], "embedding": [1e999] * 8}],
}


@pytest.mark.parametrize("fault", MALFORMED)
async def test_an_answer_that_does_not_pair_stores_nothing(empty_database: str, fault: str) -> None:
    with FakeEmbeddingServer(behaviour=altered(MALFORMED[fault])) as server:
        async with await opened(empty_database, server) as engine:
            with pytest.raises(MalformedResponse):
                await put(engine, *texts(5))
            for table in ("document", "revision", "chunk", "embedding_1"):
                assert await rows(engine, f"select count(*) from veraz.{table}") == [(0,)], table  # noqa: S608
            server.behaviour = answer
            assert (await put(engine, *texts(5))).new == 5


ANOTHER = r"(corpus is embedded with|embedding space) fake-a[\s\S]*fix: .*set \[embedder\] back"


@pytest.mark.parametrize(
    "difference", [{"model": "fake-b"}, {"revision": "2"}, {"query_prefix": "question: "}]
)
async def test_another_model_of_the_same_length_is_refused(
    empty_database: str, difference: dict[str, str]
) -> None:
    with FakeEmbeddingServer() as server:
        async with await opened(empty_database, server) as engine:
            await put(engine, *texts(3))
        sent = len(server.received)
        async with await opened(empty_database, server, init=False, **difference) as other:
            for attempt in (
                other.search("topic1", lang="en"),
                other.ask("What is topic1?", lang="en"),
                put(other, *texts(4)),
            ):
                with pytest.raises(ConfigError, match=ANOTHER):
                    await attempt
            assert await rows(other, "select count(*) from veraz.document") == [(3,)]
        assert len(server.received) == sent, "no vector of the other model was even asked for"


@pytest.mark.parametrize("difference", [{"revision": "2"}, {"query_prefix": "question: "}])
async def test_so_is_another_one_of_the_same_name_when_the_database_is_prepared(
    empty_database: str, difference: dict[str, str]
) -> None:
    with FakeEmbeddingServer() as server:
        async with await opened(empty_database, server) as engine:
            await put(engine, *texts(3))
            spaces = await rows(engine, "select * from veraz.embedding_space")
        async with await opened(empty_database, server, init=False, **difference) as other:
            with pytest.raises(ConfigError, match=ANOTHER):
                await other.init()
            assert await rows(other, "select * from veraz.embedding_space") == spaces


async def test_a_rate_limit_is_waited_for_and_nothing_is_sent_twice(empty_database: str) -> None:
    limited = Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})
    with FakeEmbeddingServer(behaviour=first([limited, limited], skip=2)) as server:
        async with await opened(empty_database, server, batch_size=10, concurrency=1) as engine:
            report = await put(engine, *texts(60))
        assert (report.documents, report.embedded) == (60, 60)
        refused = [r for r in server.received if r.number in (2, 3)]
        accepted = [text for r in server.received if r.number not in (2, 3) for text in r.texts]
        assert sorted(accepted) == sorted(set(accepted)), "an accepted batch was sent again"
        again = server.received[4]
        assert refused[1].at - refused[0].at >= 1
        assert again.at - refused[1].at >= 1


async def test_a_limit_without_end_stops_and_the_next_run_continues(empty_database: str) -> None:
    limited = Reply(429, {"error": {"message": "no quota"}}, {"Retry-After": "1"})
    with FakeEmbeddingServer() as server:
        async with await opened(empty_database, server, max_wait=1.5) as engine:
            await put(engine, *texts(5))
            server.behaviour = lambda _request, _server: limited
            with pytest.raises(RateLimited) as stopped:
                await put(engine, *texts(12))
            assert stopped.value.exit_code == 3
            assert await rows(engine, "select count(*) from veraz.document") == [(5,)]
            server.behaviour = answer
            report = await put(engine, *texts(12))
            assert (report.new, report.unchanged, report.embedded) == (7, 5, 7)


@pytest.mark.parametrize("late", range(5))
async def test_batches_that_finish_out_of_order_stay_with_their_texts(empty_database: str, late: int) -> None:
    with FakeEmbeddingServer(behaviour=delayed(late, 0.2)) as server:
        async with await opened(empty_database, server, batch_size=5, concurrency=4) as engine:
            await put(engine, *texts(23))
            stored = await stored_vectors(engine)
            assert len(stored) == 23
            for text, vector in stored:
                np.testing.assert_allclose(vector, fake_vector(text), atol=2e-3)
