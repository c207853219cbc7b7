"""The blocking `Veraz`: the same surface as `AsyncVeraz`, from scripts, threads, callbacks and running loops."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.databases import config
from tests.support.hashing import HashingEmbedder
from veraz import AsyncVeraz, Veraz
from veraz.errors import UsageError
from veraz.portal import Portal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import generate_sync

RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}
NOTE = "---\ntitle: Kettles\n---\n\n# Kettles\n\nA kettle is descaled with citric acid twice a year.\n"


@pytest.fixture
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


@pytest.fixture
def vz(database: str) -> Iterator[Veraz]:
    with Veraz.open(config=config(database), embedder=HashingEmbedder()) as opened:
        yield opened


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "kettle.md"
    path.write_text(NOTE, encoding="utf-8")
    return path


# The file


def test_the_generated_file_is_current() -> None:
    assert generate_sync.TARGET.read_text(encoding="utf-8") == generate_sync.generate()


def test_every_file_of_the_engine_is_read() -> None:
    assert {path.stem for path in generate_sync.ENGINE.glob("*.py")} == set(generate_sync.PARTS)


def test_both_classes_have_the_same_methods_with_the_same_signatures_and_docstrings() -> None:
    blocking, awaiting = _public(Veraz), _public(AsyncVeraz)
    assert blocking.keys() == awaiting.keys()
    for name, method in blocking.items():
        mine, other = inspect.signature(method), inspect.signature(awaiting[name])
        assert mine.parameters == other.parameters, name
        if name not in ("open", "acting_as", "__enter__"):
            assert mine.return_annotation == other.return_annotation, name
        if not name.startswith("__") and name != "close":
            assert inspect.getdoc(method) == inspect.getdoc(awaiting[name]), name


def _public(cls: type) -> dict[str, object]:
    named = {RENAMED.get(name, name): member for name, member in inspect.getmembers(cls, inspect.isroutine)}
    return {n: m for n, m in named.items() if n in RENAMED.values() or not n.startswith("_")}


# The portal


def test_an_error_comes_as_the_very_object_that_was_raised(portal: Portal) -> None:
    mistake = UsageError("k is 0", fix="ask for one")

    async def fail() -> None:
        raise mistake

    with pytest.raises(UsageError) as caught:
        portal.run(fail())
    assert caught.value is mistake


def test_ctrl_c_cancels_the_coroutine_and_waits_until_it_has_let_go(portal: Portal) -> None:
    begun, released = threading.Event(), threading.Event()

    async def hold() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            released.set()

    def interrupt() -> None:
        begun.wait(10)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        portal.run(hold())
    assert released.is_set()


def test_a_loop_that_runs_already_is_no_obstacle(portal: Portal) -> None:
    async def answer() -> int:
        return 42

    async def notebook_cell() -> int:
        return portal.run(answer())

    assert asyncio.run(notebook_cell()) == 42


def test_calls_of_several_threads_run_side_by_side(portal: Portal) -> None:
    meeting = asyncio.Barrier(4)

    async def meet() -> bool:
        async with asyncio.timeout(10), meeting:
            return True

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: portal.run(meet()), range(4))) == [True] * 4


def test_a_callback_that_calls_back_is_refused_and_does_not_wait_for_itself(portal: Portal) -> None:
    async def nothing() -> None: ...

    async def call_back() -> None:
        portal.run(nothing())

    with pytest.raises(UsageError, match="called back"):
        portal.run(call_back())


def test_a_closed_portal_refuses_and_closing_twice_is_fine(portal: Portal) -> None:
    async def nothing() -> None: ...

    portal.close()
    portal.close()
    with pytest.raises(UsageError, match="closed"):
        portal.run(nothing())


def test_closing_ends_what_another_thread_waits_for(portal: Portal) -> None:
    begun = threading.Event()

    async def hold() -> None:
        begun.set()
        await asyncio.sleep(60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(portal.run, hold())
        assert begun.wait(10)
        portal.close()
        with pytest.raises(CancelledError):
            waiting.result(10)


# On a database


def test_it_ingests_a_path_and_finds_it_again_from_threads(vz: Veraz, note: Path) -> None:
    assert vz.ingest(note, source="house").new == 1
    assert vz.ingest(str(note), source="house").unchanged == 1
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: vz.search("citric acid kettle", k=1), range(6)))
    assert {r.hits[0].document.external_id for r in results} == {"kettle.md"}
    assert vz.delete("kettle.md", source="house")
    assert vz.search("citric acid kettle").hits == ()


def test_it_works_inside_a_running_loop(vz: Veraz, note: Path) -> None:
    async def notebook_cell() -> str:
        vz.ingest([note], source="house")
        return vz.show("kettle.md").revisions[0].title

    assert asyncio.run(notebook_cell()) == "Kettles"


def test_a_usage_error_reaches_the_caller_and_leaves_it_usable(vz: Veraz) -> None:
    with pytest.raises(UsageError, match="k is 0"):
        vz.search("anything", k=0)
    assert vz.search("anything").outcome == "nothing"


def test_a_closed_veraz_says_so(database: str) -> None:
    vz = Veraz.open(config=config(database), embedder=HashingEmbedder())
    vz.close()
    vz.close()
    with pytest.raises(UsageError, match="closed"):
        vz.search("anything")


def test_a_server_that_cannot_be_reached_leaves_no_thread_behind() -> None:
    from veraz.errors import DatabaseError

    before = threading.active_count()
    with pytest.raises(DatabaseError, match="cannot reach PostgreSQL"):
        Veraz.open("postgresql://nobody@127.0.0.1:1/none")
    assert threading.active_count() == before
