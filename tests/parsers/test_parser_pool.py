"""A document that hangs, crashes or takes all memory costs itself, and nothing else."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from veraz.errors import ItemError, UnavailableError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for
from veraz.providers.parsers import pool as pool_module
from veraz.providers.parsers.pool import ParserPool, ParsersHere
from veraz.providers.parsers.worker import RECOGNITION_MEMORY, Limits

LIMITS = Limits(seconds=4, memory=512 << 20, characters=100_000)


def item(words: str, name: str = "a.txt") -> RawItem:
    return RawItem(f"in/{name}", name, "text", payload=words.encode())


@pytest_asyncio.fixture
async def hostile() -> AsyncIterator[ParserPool]:
    pool = ParserPool(2, LIMITS, module="tests.support.hostile_worker")
    yield pool
    await pool.close()


async def outcome(pool: ParserPool | ParsersHere, one: RawItem) -> ParsedDocument | ItemError:
    try:
        return await pool.parse(one)
    except ItemError as error:
        return error


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("hang", "took longer than 4 s to parse"),
        ("spin", "took longer than 4 s to parse"),
        ("crash", "its parser crashed (signal SIGABRT)"),
        ("exit", "its parser crashed (exit code 7)"),
        ("memory", "needs more memory than a document may"),
        ("creep", "needs more memory than a document may"),
        ("deep", "nested too deeply"),
        ("flood", "its parser answered nothing that can be read"),
        ("raise", "its parser failed: ZeroDivisionError: division by zero"),
    ],
)
async def test_a_failing_parser_costs_one_document(hostile: ParserPool, word: str, reason: str) -> None:
    good = [item(f"good text {n}", f"{n}.txt") for n in range(6)]
    found = await asyncio.gather(*(outcome(hostile, one) for one in [*good[:3], item(word), *good[3:]]))
    failed = found.pop(3)
    assert isinstance(failed, ItemError)
    assert (failed.reason, failed.path, failed.external_id, failed.stage) == (
        reason,
        "in/a.txt",
        "a.txt",
        "parse",
    )
    assert failed.fix
    assert [one.text for one in found if isinstance(one, ParsedDocument)] == [
        f"good text {n}" for n in range(6)
    ]


async def test_what_a_parser_prints_is_not_taken_for_its_answer(hostile: ParserPool) -> None:
    assert (await hostile.parse(item("print this"))).text == "print this"


async def test_too_much_text_is_refused(hostile: ParserPool) -> None:
    with pytest.raises(ItemError, match="holds 100,001 characters"):
        await hostile.parse(item("a" * 100_001))


async def test_pages_to_recognise_get_more_time_in_a_process_of_their_own() -> None:
    pool = ParserPool(1, Limits(seconds=3), ocr=True, module="tests.support.hostile_worker")
    try:
        assert (await pool.parse(item("wordless page"))).text == "wordless page"
        assert [len(crew.idle) for crew in (pool._readers, pool._recognisers)] == [1, 1]
        assert (await pool.parse(item("good text"))).text == "good text"
        with pytest.raises(ItemError, match="took longer than 3 s"):
            await pool.parse(item("hang"))
    finally:
        await pool.close()


def test_what_recognition_may_cost() -> None:
    limits = Limits(seconds=10, memory=100, characters=5)
    assert limits.recognising(3) == Limits(seconds=130, memory=100 + RECOGNITION_MEMORY, characters=5)


async def test_the_answer_is_what_the_parser_gives_here() -> None:
    page = RawItem(
        "p.md", "p.md", "markdown", payload=b"---\ndate: 2024-02-03\nacl: [a, b]\nx: 1\n---\n# T\n\nwords\n"
    )
    record = RawItem(
        "c", "1", "record", record={"id": "1", "text": "t\ud83d\ude00\ud800", "n": 10**30, "u": None}, line=3
    )
    pool = ParserPool(1, Limits())
    try:
        for one in (page, record):
            assert await pool.parse(one) == await ParsersHere().parse(one) == parser_for(one).parse(one)
    finally:
        await pool.close()


async def test_an_idle_process_ends_with_its_parent() -> None:
    """Nothing is left behind when the caller is killed: the end of its input ends a process."""
    pool = ParserPool(1, Limits())
    await pool.parse(item("text"))
    (worker,) = pool._readers.idle
    assert worker._process.stdin is not None
    worker._process.stdin.close()
    async with asyncio.timeout(5):
        assert await worker._process.wait() == 0
    await pool.close()


async def test_a_process_that_was_ended_while_idle_costs_no_document() -> None:
    pool = ParserPool(1, Limits())
    await pool.parse(item("text"))
    (worker,) = pool._readers.idle
    worker._process.kill()
    await worker._process.wait()
    assert (await pool.parse(item("more"))).text == "more"
    assert pool._readers.idle != [worker]
    await pool.close()


@pytest.mark.parametrize("value", ["[" * 600 + "]" * 600, '{"a":' * 600 + "1" + "}" * 600])
async def test_a_record_too_deep_to_be_handed_over_costs_itself_alone(value: str) -> None:
    sys.setrecursionlimit(1000)
    pool = ParserPool(1, Limits())
    deep = RawItem("c", "1", "record", record={"id": "1", "text": "t", "n": json.loads(value)}, line=3)
    try:
        found = await outcome(pool, deep)
        assert isinstance(found, ItemError)
        assert (found.reason, found.path, found.external_id) == ("nested too deeply", "c:3", "1")
        assert found.fix
        assert (await pool.parse(item("more"))).text == "more"
    finally:
        await pool.close()


async def test_a_process_that_is_killed_at_work_costs_one_document_and_says_what_happened() -> None:
    pool = ParserPool(1, LIMITS, module="tests.support.hostile_worker")
    try:
        assert (await pool.parse(item("good text"))).text == "good text"
        (worker,) = pool._readers.idle
        asyncio.get_running_loop().call_later(0.5, os.kill, worker._process.pid, signal.SIGKILL)
        found = await outcome(pool, item("hang"))
        assert isinstance(found, ItemError)
        assert (
            found.reason
            == "its parser was ended from outside (signal SIGKILL), as a system short of memory does"
        )
        assert found.fix == "ingest it again, with fewer --workers if memory is short"
        assert (await pool.parse(item("more"))).text == "more"
    finally:
        await pool.close()


class NoRoom:
    """Starts no process the first `times`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int, number: int = errno.EAGAIN) -> None:
        self.asked, self.times, self.number = 0, times, number
        self.start = asyncio.create_subprocess_exec
        monkeypatch.setattr(pool_module, "_PAUSES", (0.01, 0.01, 0.01))
        monkeypatch.setattr(asyncio, "create_subprocess_exec", self)

    async def __call__(self, *command: Any, **settings: Any) -> asyncio.subprocess.Process:
        self.asked += 1
        if self.asked <= self.times:
            raise OSError(self.number, os.strerror(self.number))
        return await self.start(*command, **settings)


async def test_a_process_that_finds_no_room_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    no_room, pool = NoRoom(monkeypatch, times=3), ParserPool(1, Limits())
    try:
        assert (await pool.parse(item("text"))).text == "text"
        assert no_room.asked == 4
    finally:
        await pool.close()


@pytest.mark.parametrize(
    ("number", "asked", "fix"), [(errno.EAGAIN, 4, "--workers"), (errno.EACCES, 1, "can be run")]
)
async def test_where_no_process_can_be_started_the_run_ends_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, number: int, asked: int, fix: str
) -> None:
    no_room, pool = NoRoom(monkeypatch, times=99, number=number), ParserPool(1, Limits())
    with pytest.raises(UnavailableError, match="no process to parse documents in could be started") as caught:
        await pool.parse(item("text"))
    assert no_room.asked == asked
    assert os.strerror(number) in caught.value.what
    assert fix in (caught.value.fix or "")
