"""One contract for every context writer. The one that asks a model asks a real server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from tests.support.chat_server import FakeChatServer, said_about, saying
from tests.support.chunking import parse

from veraz.errors import ProviderError
from veraz.ingest.chunkers import ChunkContext, chunker
from veraz.ingest.context_writers import ChatContext, NoContext
from veraz.nouns.corpus import Chunk, ParsedDocument
from veraz.providers.chat.openai_compatible import ChatOptions, OpenAICompatibleChat
from veraz.providers.ports import ContextWriter

TEXT = "# Dose\n\nTake two tablets.\n\n# Storage\n\nKeep below 25 °C.\n"
NAMES = ("none", "llm")


@pytest.fixture
async def served() -> AsyncIterator[tuple[FakeChatServer, OpenAICompatibleChat]]:
    with FakeChatServer() as server:
        chat = OpenAICompatibleChat(ChatOptions(url=server.url, model="m", max_wait=0))
        yield server, chat
        await chat.close()


def made(name: str, chat: Any, **changes: Any) -> ContextWriter:
    return NoContext() if name == "none" else ChatContext(chat, **{"tokens": 96, "window": 4_000, **changes})


def document(text: str = TEXT, **changes: Any) -> tuple[ParsedDocument, tuple[Chunk, ...]]:
    doc = replace(parse(text), **changes)
    count = lambda texts: [2 + len(t.split()) for t in texts]  # noqa: E731
    return doc, chunker("structure", {}).chunk(doc, ChunkContext("Source", 100, count, "en"))


@pytest.mark.parametrize("name", NAMES)
async def test_a_writer_gives_each_chunk_a_line_or_none(name: str, served: Any) -> None:
    server, chat = served
    writer = made(name, chat)
    doc, chunks = document()
    keys = writer.keys(doc, chunks)
    lines = [await writer.write(doc, one) for one in chunks]
    assert len(keys) == len(chunks) == len(lines) == 2
    assert all(key is None or len(key) == 32 for key in keys)
    assert all(line == " ".join(line.split()) and line.isprintable() for line in lines)
    if name == "none":
        assert (writer.version, set(keys), set(lines), server.received) == ("", {None}, {""}, [])
    else:
        assert lines == [said_about(one.display) for one in chunks]
        assert len(set(keys)) == 2
        assert writer.version


@pytest.mark.parametrize("name", NAMES)
async def test_keys_are_the_same_for_the_same_and_for_other_dates(name: str, served: Any) -> None:
    writer = made(name, served[1])
    doc, chunks = document()
    assert writer.keys(doc, chunks) == writer.keys(doc, chunks)
    assert writer.keys(*document(revised_at=date(2025, 1, 1), license="CC0", url="https://x")) == writer.keys(
        doc, chunks
    )
    assert served[0].received == [], "keys ask nothing"


async def test_whatever_decides_the_answer_decides_the_key(served: Any) -> None:
    server, chat = served
    doc, chunks = document()
    other = OpenAICompatibleChat(ChatOptions(url=server.url, model="n"))
    keys = [
        tuple(writer.keys(*given))
        for writer, given in (
            (made("llm", chat), (doc, chunks)),
            (made("llm", other), (doc, chunks)),
            (made("llm", chat, tokens=48), (doc, chunks)),
            (made("llm", chat), document(title="Another title")),
            (made("llm", chat), document(TEXT.replace("two", "three"))),
        )
    ]
    assert len(set(keys)) == len(keys)
    versions = {made("llm", chat).version, made("llm", other).version, made("llm", chat, tokens=48).version}
    assert len(versions) == 3


async def test_far_away_changes_of_a_long_document_ask_nothing_anew(served: Any) -> None:
    writer = made("llm", served[1], window=1_000)
    filler = "\n\n".join(f"## Part {n}\n\nSome filler words of part {n}." for n in range(200))
    doc, chunks = document(f"{filler}\n\n## End\n\nThe last word.\n")
    other, again = document(f"{filler}\n\n## End\n\nThe very last word.\n")
    before, after = writer.keys(doc, chunks), writer.keys(other, again)
    same = [a == b for a, b in zip(before, after, strict=True)]
    assert sum(same) > 150
    assert not same[-1]
    assert same.index(False) > 150, "what changed is what stands near"


async def test_a_model_that_fails_is_an_error_of_the_provider(served: Any) -> None:
    server, chat = served
    doc, (one, *_) = document()
    server.behaviour = lambda _: saying("", "length")
    with pytest.raises(ProviderError):
        await made("llm", chat).write(doc, one)
