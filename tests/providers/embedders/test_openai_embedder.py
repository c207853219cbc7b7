"""The HTTP adapter against a server that misbehaves in every way that real ones were seen to."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_server import FakeEmbeddingServer, Reply, altered, delayed, first
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ConfigError, MalformedResponse, ProviderError, RateLimited
from veraz.nouns.corpus import EmbeddingBatch
from veraz.providers.embedders.openai_compatible import OpenAICompatible, OpenAIOptions
from veraz.providers.retry import Backoff, parse_retry_after

PLEASE_WAIT = Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "2"})


def make(server: FakeEmbeddingServer, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(
        OpenAIOptions(
            **{"base_url": server.url, "model": server.model, "dimensions": server.dimension, **options}
        )
    )


def run(embedder: OpenAICompatible, texts: list[str]) -> EmbeddingBatch:
    return asyncio.run(embedder.embed(texts, "passage"))


def words(count: int) -> list[str]:
    return [f"text number {i}" for i in range(count)]


def expect_each_its_own(server: FakeEmbeddingServer, texts: list[str], batch: EmbeddingBatch) -> None:
    np.testing.assert_allclose(batch.vectors, [server.vector(text) for text in texts], atol=1e-6)


class TestPairing:
    def test_blank_texts_are_never_sent(self, server: FakeEmbeddingServer) -> None:
        with pytest.raises(ValueError, match="text 1 is blank"):
            run(make(server), ["good", " \n", "also good"])
        assert server.received == []

    def test_vectors_are_paired_by_index_in_any_order(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = altered(lambda items: items[::-1])
        texts = words(5)
        expect_each_its_own(server, texts, run(make(server), texts))

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda items: items[:-1], "4 vectors for 5 texts"),
            (lambda items: [*items[:-1], items[0]], "index 0 twice"),
            (lambda items: [*items, {**items[0], "index": 5}], "index 5 for 5 texts"),
            (lambda items: [{**items[0], "index": -1}, *items[1:]], "index -1 for 5 texts"),
            (
                lambda items: [*items[:-1], {**items[4], "embedding": [0.1] * 7}],
                "7 numbers for text 4, not 8",
            ),
            (lambda items: [*items[:-1], {**items[4], "embedding": [0.0] * 8}], "not finite for text 4"),
            (lambda items: [*items[:-1], {**items[4], "embedding": [1e300] * 8}], "not finite for text 4"),
            (lambda items: [*items[:-1], {**items[4], "embedding": [float("nan")] * 8}], "another form"),
            (lambda items: [*items[:-1], {**items[4], "embedding": ["1"] * 8}], "another form"),
            (lambda items: [{"embedding": item["embedding"]} for item in items], "another form"),
        ],
    )
    def test_an_answer_that_does_not_pair_is_refused_whole(
        self, server: FakeEmbeddingServer, change: Any, says: str
    ) -> None:
        server.behaviour = altered(change)
        with pytest.raises(MalformedResponse, match=says):
            run(make(server), words(5))

    def test_one_malformed_batch_spoils_the_call_and_names_the_position_in_it(
        self, server: FakeEmbeddingServer
    ) -> None:
        bad = {"model": "fake-a", "data": [{"index": 0, "embedding": [0.0] * 8}]}
        server.behaviour = first([Reply(body=bad)], skip=2)
        with pytest.raises(MalformedResponse, match="text 4"):
            run(make(server, batch_size=2, concurrency=1), words(5))

    def test_another_models_vectors_are_refused(self, server: FakeEmbeddingServer) -> None:
        embedder = make(server, model="fake-b")
        with pytest.raises(MalformedResponse, match="model 'fake-a' where 'fake-b'"):
            run(embedder, ["text"])
        accepted = make(server, model="fake-b", echoes="fake-a")
        expect_each_its_own(server, ["text"], run(accepted, ["text"]))

    def test_two_models_are_two_spaces(self, server: FakeEmbeddingServer) -> None:
        a, b = make(server).space, make(server, model="fake-b").space
        assert a.dimension == b.dimension
        assert a.fingerprint != b.fingerprint
        assert a.name != b.name
        assert make(server, revision="2").space.fingerprint != a.fingerprint

    def test_vectors_of_any_length_are_scaled_to_one(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = altered(
            lambda items: [{**item, "embedding": [1e-30 * x for x in item["embedding"]]} for item in items]
        )
        expect_each_its_own(server, ["text"], run(make(server), ["text"]))

    def test_vectors_keep_their_length_where_they_are_not_to_be_normalised(
        self, server: FakeEmbeddingServer
    ) -> None:
        server.behaviour = altered(
            lambda items: [{**item, "embedding": [3 * x for x in item["embedding"]]} for item in items]
        )
        scaled, kept = make(server), make(server, normalise=False)
        assert (scaled.space.normalised, kept.space.normalised) == (True, False)
        unit, whole = run(scaled, ["text"]), run(kept, ["text"])
        length = float(np.linalg.norm(whole.vectors[0]))
        assert abs(length - 1) > 0.05
        np.testing.assert_allclose(whole.vectors, unit.vectors * length, rtol=1e-5)

    @pytest.mark.parametrize("factor", [1e-12, 1e8])
    def test_what_cannot_be_stored_at_its_length_is_refused(
        self, server: FakeEmbeddingServer, factor: float
    ) -> None:
        server.behaviour = altered(
            lambda items: [{**item, "embedding": [factor * x for x in item["embedding"]]} for item in items]
        )
        with pytest.raises(MalformedResponse, match="zero or not finite for text 0"):
            run(make(server, normalise=False), ["text"])

    def test_concurrent_batches_are_never_shuffled(self, server: FakeEmbeddingServer) -> None:
        texts = words(23)
        embedder = make(server, batch_size=5, concurrency=4)
        for _ in range(20):
            server.received.clear()
            server.behaviour = delayed(0, 0.1)
            expect_each_its_own(server, texts, run(embedder, texts))
            assert sorted(len(request.texts) for request in server.received) == [3, 5, 5, 5, 5]

    def test_equal_texts_are_sent_once(self, server: FakeEmbeddingServer) -> None:
        texts = ["a", "b", "a", "a", "b"]
        expect_each_its_own(server, texts, run(make(server), texts))
        assert server.texts == ["a", "b"]


class TestRetrying:
    def test_a_rate_limit_is_waited_out_and_no_answered_batch_is_sent_again(
        self, server: FakeEmbeddingServer
    ) -> None:
        server.behaviour = first([PLEASE_WAIT, PLEASE_WAIT], skip=2)
        texts = words(60)
        expect_each_its_own(server, texts, run(make(server, batch_size=10, concurrency=1), texts))
        assert len(server.received) == 8  # six batches, the third three times
        times = [request.at for request in server.received]
        assert times[3] - times[2] >= 2
        assert times[4] - times[3] >= 2
        sent = [tuple(request.texts) for request in server.received]
        assert sent[2] == sent[3] == sent[4]
        assert len(set(sent)) == 6

    def test_a_pause_holds_for_the_other_batches_too(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = first([Reply(429, {}, {"Retry-After": "1"})])
        texts = words(8)
        expect_each_its_own(server, texts, run(make(server, batch_size=2, concurrency=1), texts))
        assert server.received[1].at - server.received[0].at >= 1

    def test_retry_after_may_be_a_date(self, server: FakeEmbeddingServer) -> None:
        soon = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        server.behaviour = first([Reply(429, {}, {"Retry-After": soon})])
        began = datetime.now(UTC)
        run(make(server), ["text"])
        assert (
            datetime.now(UTC)
            >= datetime.strptime(soon, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
            > began
        )

    def test_a_permanent_rate_limit_ends_within_the_bound(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = lambda *_: Reply(429, {"error": {"message": "quota"}}, {"Retry-After": "1"})
        began = time.monotonic()
        with pytest.raises(RateLimited, match="quota") as caught:
            run(make(server, max_wait=2.5), ["text"])
        assert time.monotonic() - began < 5
        assert caught.value.retry_after == 1
        assert len(server.received) == 3

    def test_a_pause_longer_than_the_bound_is_not_begun(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = lambda *_: Reply(429, {}, {"Retry-After": "3600"})
        began = time.monotonic()
        with pytest.raises(RateLimited) as caught:
            run(make(server), ["text"])
        assert time.monotonic() - began < 5
        assert caught.value.retry_after == 3600
        assert len(server.received) == 1

    @pytest.mark.parametrize("status", [500, 502, 503, 504])
    def test_a_servers_passing_fault_is_tried_again(self, server: FakeEmbeddingServer, status: int) -> None:
        server.behaviour = first([Reply(status, {"error": "oops"})])
        expect_each_its_own(server, ["text"], run(make(server), ["text"]))
        assert len(server.received) == 2

    def test_a_lasting_fault_repeats_the_servers_words(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = lambda *_: Reply(503, {"error": {"message": "disk on fire"}})
        with pytest.raises(ProviderError, match=r"503 after .*disk on fire") as caught:
            run(make(server, max_wait=0.6), ["text"])
        assert not isinstance(caught.value, RateLimited)

    def test_a_slow_answer_is_asked_for_again(self, server: FakeEmbeddingServer) -> None:
        server.behaviour = delayed(0, 1.5)
        expect_each_its_own(server, ["text"], run(make(server, timeout=0.5), ["text"]))
        assert len(server.received) == 2

    def test_a_server_that_is_not_there_is_named(self) -> None:
        options = OpenAIOptions(base_url="http://127.0.0.1:9/v1", model="m", dimensions=8, max_wait=0.3)
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9/v1/embeddings"):
            run(OpenAICompatible(options), ["text"])

    @pytest.mark.parametrize(
        ("status", "fix"), [(400, "options"), (401, "OPENAI_API_KEY"), (404, "base_url")]
    )
    def test_a_refusal_is_final(self, server: FakeEmbeddingServer, status: int, fix: str) -> None:
        server.behaviour = lambda *_: Reply(status, {"error": {"message": "no such thing"}})
        with pytest.raises(ProviderError, match="no such thing") as caught:
            run(make(server), ["text"])
        assert fix in str(caught.value)
        assert len(server.received) == 1


class TestKeys:
    def test_the_key_is_sent_and_never_shown(self, server: FakeEmbeddingServer) -> None:
        key = "sk-very-secret"
        server.behaviour = lambda *_: Reply(401, {"error": {"message": f"Incorrect API key provided: {key}"}})
        options = OpenAIOptions(base_url=server.url, model="fake-a", dimensions=8, api_key=key)
        embedder = OpenAICompatible(options)
        with pytest.raises(ProviderError) as caught:
            run(embedder, ["text"])
        assert server.received[0].headers["authorization"] == f"Bearer {key}"
        shown = f"{caught.value!s} {caught.value!r} {embedder!r} {embedder} {options!r} {options}"
        assert key not in shown
        assert "Incorrect API key provided: ***" in shown

    def test_the_key_comes_from_the_environment(
        self, server: FakeEmbeddingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", "from-env")
        run(make(server, api_key_env="MY_KEY"), ["text"])
        assert server.received[0].headers["authorization"] == "Bearer from-env"

    def test_openai_without_a_key_is_refused_before_anything_is_sent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            OpenAICompatible(OpenAIOptions(model="text-embedding-3-small", dimensions=1536))


class TestTokens:
    def test_without_a_tokenizer_the_count_is_an_upper_bound(self, server: FakeEmbeddingServer) -> None:
        embedder = make(server, passage_prefix="p: ")
        assert embedder.count_tokens(["abc", "é", "医"]) == [6, 5, 6]

    def test_a_long_text_is_cut_between_characters_and_reported(self, server: FakeEmbeddingServer) -> None:
        batch = run(make(server, max_tokens=10), ["short", "医" * 4, "0123456789"])
        assert batch.truncated == (1,)
        assert server.texts == ["short", "医" * 3, "0123456789"]

    def test_with_a_tokenizer_counts_are_exact(self, server: FakeEmbeddingServer, hub_folder: Path) -> None:
        tokenizer = str(hub_folder / "tokenizer.json")
        embedder = make(server, tokenizer=tokenizer, max_tokens=3)
        assert embedder.count_tokens(["alpha", "alpha beta gamma delta"]) == [1, 4]
        batch = run(embedder, ["alpha", "alpha beta gamma delta", "beta gamma x"])
        assert batch.truncated == (1,)
        assert server.texts == ["alpha", "alpha beta gamma", "beta gamma x"]

    def test_an_unreadable_tokenizer_is_named(self, server: FakeEmbeddingServer, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"missing\.json"):
            make(server, tokenizer=str(tmp_path / "missing.json"))

    def test_shorter_vectors_are_asked_for_only_on_request(self, server: FakeEmbeddingServer) -> None:
        run(make(server), ["text"])
        run(make(server, shorten=True), ["text"])
        assert [request.body.get("dimensions") for request in server.received] == [None, 8]


@pytest.mark.parametrize("option", ["dimensions", "max_tokens", "batch_size", "concurrency", "timeout"])
def test_a_number_that_cannot_work_is_refused(server: FakeEmbeddingServer, option: str) -> None:
    with pytest.raises(ConfigError, match=option):
        make(server, **{option: 0})


def test_an_address_without_scheme_is_refused(server: FakeEmbeddingServer) -> None:
    for address in ("example.org/v1", "ftp://example.org/v1", "https://", "https:///v1"):
        with pytest.raises(ConfigError, match="base_url"):
            make(server, base_url=address)


def test_the_fake_server_refuses_blanks_itself(server: FakeEmbeddingServer) -> None:
    assert server.receive({"input": ["a", " "]}, {}).status == 400
    assert server.receive({"input": ["a", "b"]}, {}).status == 200


class TestBackoff:
    NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            (None, None),
            ("2", 2.0),
            ("1.5", 1.5),
            ("-3", 0.0),
            ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
            ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
            ("soon", None),
            ("", None),
        ],
    )
    def test_retry_after_header(self, header: str | None, seconds: float | None) -> None:
        assert parse_retry_after(header, self.NOW) == seconds

    @given(
        budget=st.floats(0, 500),
        chances=st.lists(st.floats(0, 1), min_size=40, max_size=40),
        asked=st.lists(st.none() | st.floats(0, 60), min_size=20, max_size=20),
    )
    def test_waits_are_bounded_in_sum_and_never_shorter_than_asked(
        self, budget: float, chances: list[float], asked: list[float | None]
    ) -> None:
        supply = iter(chances)
        backoff = Backoff(budget=budget, chance=lambda: next(supply))
        waits = []
        for wish in asked:
            wait = backoff.next_wait(wish)
            if wait is None:
                break
            assert wish is None or wait >= wish
            waits.append(wait)
        assert sum(waits) <= budget + 1e-6
        assert backoff.attempts == len(waits) + 1

    def test_waits_double_up_to_the_longest(self) -> None:
        backoff = Backoff(budget=1000, first=1, longest=8, chance=lambda: 0.0)
        assert [backoff.next_wait() for _ in range(6)] == [1, 2, 4, 8, 8, 8]
        assert Backoff(budget=1000, first=1, chance=lambda: 1.0).next_wait() == 0.5
