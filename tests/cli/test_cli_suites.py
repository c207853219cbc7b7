"""Suites at the command line: imports, checks, judging by keys, agreement."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import click
import pytest
from rich.console import Console
from tests.cli.conftest import FakeEngine, Run, document

from veraz.cli.render.judging import Screen
from veraz.evaluation.judging.session import JudgingSession
from veraz.evaluation.suites.judgements import JudgementLog, read_judgements, text_hash
from veraz.nouns.suite import Binding, Imported, Passage, PooledQuestion, QueryRequest, Unbound


def passage(n: int, text: str = "") -> Passage:
    text = text or f"Burn text {n}."
    return Passage(
        "s",
        f"d{n}",
        1,
        0,
        len(text),
        text,
        f"Title \x1b[31m{n}",
        ("Above", "Below"),
        "en",
        None,
        text_hash(text),
    )


def pool() -> list[PooledQuestion]:
    long = "\n".join(f"line {n}" for n in range(200))
    return [
        PooledQuestion(QueryRequest("q1", "Which burn?", facets=("table",)), (passage(1), passage(2))),
        PooledQuestion(QueryRequest("q2", "How long?"), (passage(3, long),)),
    ]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "suite.toml").write_text('name = "n"\nversion = "1"\nsources = ["s"]\n')
    (folder / "queries.jsonl").write_text(
        '{"id": "q1", "text": "Which burn?"}\n{"id": "q2", "text": "How long?"}\n'
    )
    return folder


class Keys:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waiting: list[str] = []
        monkeypatch.setattr(click, "getchar", self)

    def __call__(self) -> str:
        if not self.waiting:
            raise EOFError
        return self.waiting.pop(0)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    return Keys(monkeypatch)


def ready(fake: FakeEngine, suite: Path, judge: str = "ana") -> JudgementLog:
    log = JudgementLog(suite / "judgements.jsonl")
    said = read_judgements(log.path) if log.path.exists() else ()
    fake.answers["judging"] = JudgingSession(pool(), said, log, judge)
    return log


def test_single_keys_grade_skip_take_back_and_end(
    run: Run, fake: FakeEngine, keys: Keys, suite: Path
) -> None:
    log = ready(fake, suite)
    keys.waiting = ["x", "2", "s", "u", "1", "q"]
    result = run("eval", "judge", str(suite), "--judge", "ana")
    assert result.exit_code == 0, result.stderr
    assert [(j.external_id, j.grade) for j in read_judgements(log.path)] == [
        ("d1", 2),
        ("d1", None),
        ("d1", 1),
    ]
    assert "1 passage judged now, 2 of 3 left" in result.stdout
    assert "run it again to go on" in result.stdout
    [(_, arguments, options)] = fake.calls
    assert arguments == (suite,)
    assert (options["judge"], options["modes"], options["depth"]) == (
        "ana",
        ("hybrid", "lexical", "semantic"),
        10,
    )


def test_a_judge_sees_question_place_and_text_and_nothing_that_would_move_the_cursor(
    run: Run, fake: FakeEngine, keys: Keys, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "24")
    ready(fake, suite)
    keys.waiting = ["0", "0", " ", "\x1b[B", "b", "2"]
    shown = run("eval", "judge", str(suite)).stderr
    assert "Which burn?" in shown
    assert "Above › Below" in shown
    assert "Burn text 1." in shown
    assert "question 1 of 2 · passage 2 of 2 · 1 of 3 judged" in shown
    assert "\x1b[31m" not in shown
    assert "page 1 of" in shown
    assert "page 2 of" in shown
    assert "page 3 of" in shown
    assert "line 0\n" in shown
    assert not any(word in shown for word in ("rank", "score", "hybrid", "lexical"))


def test_of_keys_that_come_at_once_the_first_counts(
    run: Run, fake: FakeEngine, keys: Keys, suite: Path
) -> None:
    log = ready(fake, suite)
    keys.waiting = ["21", "", "q2"]
    assert run("eval", "judge", str(suite)).exit_code == 0
    assert [(j.external_id, j.grade) for j in read_judgements(log.path)] == [("d1", 2)]


def test_the_end_and_json(run: Run, fake: FakeEngine, keys: Keys, suite: Path) -> None:
    ready(fake, suite)
    keys.waiting = ["0", "1", "2"]
    printed = document(
        run("eval", "judge", str(suite), "--judge", "ana", "--mode", "lexical", "--runs", "r1", "--json")
    )
    assert printed == {
        "judged": 3,
        "left": 0,
        "total": 3,
        "judge": "ana",
        "file": str(suite / "judgements.jsonl"),
    }
    assert fake.calls[0][2]["modes"] == ("lexical",)
    assert fake.calls[0][2]["runs"] == (Path("r1"),)
    ready(fake, suite)
    assert (
        document(run("eval", "judge", str(suite), "--judge", "ana", "--runs", "r", "--json"))["judged"] == 0
    )
    assert fake.calls[1][2]["modes"] == (), "runs alone, where runs are given"


@pytest.mark.parametrize("key", ["q", "\x1b", KeyboardInterrupt, EOFError])
def test_whatever_ends_it_keeps_what_was_judged(
    run: Run, fake: FakeEngine, suite: Path, monkeypatch: pytest.MonkeyPatch, key: str | type[BaseException]
) -> None:
    log = ready(fake, suite)
    given: Iterator[str | type[BaseException]] = iter(["2", key])

    def read() -> str:
        following = next(given)
        if isinstance(following, str):
            return following
        raise following

    monkeypatch.setattr(click, "getchar", read)
    assert run("eval", "judge", str(suite)).exit_code == 0
    assert len(read_judgements(log.path)) == 1


def test_without_a_terminal_it_says_so(
    run: Run, fake: FakeEngine, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(fake, suite)

    def nothing_there() -> str:
        raise OSError(6, "No such device or address", "/dev/tty")

    monkeypatch.setattr(click, "getchar", nothing_there)
    result = run("eval", "judge", str(suite))
    assert result.exit_code == 2
    assert "judging needs a terminal" in result.stderr


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 20), (100, 30)])
@pytest.mark.parametrize("number", [0, 1])
def test_a_screen_is_never_higher_than_the_terminal(
    width: int, height: int, number: int, tmp_path: Path
) -> None:
    shown = StringIO()
    out = Console(file=shown, force_terminal=True, width=width, height=height, color_system=None)
    session = JudgingSession(pool()[number:], (), JudgementLog(tmp_path / "j"), "ana")
    screen, task = Screen(out, session.grades), session.current()
    assert task is not None
    seen = ""
    for _ in range(400):
        shown.seek(0)
        shown.truncate()
        screen.say("a note")
        screen.show(task, session.progress)
        lines = shown.getvalue().rsplit("\x1b[H", 1)[-1].split("\n")
        assert len(lines) <= height, "the first line would leave the screen"
        assert lines[0].startswith("question 1 of"), lines[0]
        seen += shown.getvalue()
        screen.turn(1)
    expected = ["line 0", "line 199"] if number else ["Burn text 1."]
    assert all(f"{line}\n" in seen for line in expected)
    screen.turn(-1000)
    screen.turn(1000)


# In a terminal, killed

JUDGE = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.cli import test_cli_suites as t
from veraz.cli import session
from veraz.cli.main import main
from tests.cli.conftest import FakeEngine
fake, folder = FakeEngine(), Path({suite!r})
t.ready(fake, folder)
async def opened(config, bars):
    return fake
session.open_engine = opened
sys.argv = ["veraz", "eval", "judge", str(folder), "--judge", "ana"]
main()
"""


class Terminal:
    """A process of its own on a pseudo-terminal."""

    def __init__(self, suite: Path) -> None:
        root = str(Path(__file__).resolve().parents[2])
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", JUDGE.format(root=root, suite=str(suite))],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.seen = ""

    def until(self, text: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"no {text!r} in {self.seen[-2000:]!r}"
            if select.select([self._ours], [], [], left)[0]:
                self.seen += os.read(self._ours, 65536).decode(errors="replace")

    def press(self, keys: str) -> None:
        time.sleep(0.3)  # what is pressed before the passage can be read is thrown away
        self.seen = ""
        os.write(self._ours, keys.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_in_a_real_terminal_killed_and_begun_again(suite: Path) -> None:
    log = suite / "judgements.jsonl"
    first = Terminal(suite)
    try:
        first.until("passage 1 of 2")
        first.press("2")
        first.until("passage 2 of 2")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    finally:
        first.close()
    assert [j.grade for j in read_judgements(log)] == [2]
    second = Terminal(suite)
    try:
        second.until("1 of 3 judged")
        second.until("passage 2 of 2")
        second.press("u")
        second.until("passage 1 of 2")
        second.press("1")
        second.until("passage 2 of 2")
        second.press("0")
        second.until("page 1 of")
        second.press("\x1b[B")
        second.until("page 2 of")
        second.press("\x03")
        second.until("1 of 3 left")
        assert second.process.wait(timeout=20) == 0
    finally:
        second.close()
    assert [j.grade for j in read_judgements(log)] == [2, None, 1, 0]


# The other verbs


def test_agreement_of_the_judges_of_a_suite(run: Run, suite: Path) -> None:
    assert "no passage was judged by two judges" in run("eval", "agreement", str(suite)).stdout
    rows = [("a", 1, 2), ("a", 2, 0), ("b", 1, 2), ("b", 2, 2), ("a", 3, 1)]
    (suite / "judgements.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "query_id": "q1",
                    "external_id": "d",
                    "start": n,
                    "end": 9 + n,
                    "sha256": "0" * 64,
                    "grade": g,
                    "judge": j,
                }
            )
            + "\n"
            for j, n, g in rows
        )
    )
    shown = run("eval", "agreement", str(suite)).stdout
    assert "50.0%" in shown
    assert "a 0, b 2: q1, s/d#2-11" in shown
    [pair] = document(run("eval", "agreement", str(suite), "--json"))["pairs"]
    assert (pair["passages"], pair["raw"], pair["kappa"]) == (2, 0.5, 0.0)
    assert run("eval", "agreement", str(suite / "none")).exit_code == 2


def test_a_check_says_what_is_not_bound_and_fails_below_a_share(run: Run, fake: FakeEngine) -> None:
    lost = tuple(Unbound("q1", "s", f"d{n}", 0, 9, 2, "text") for n in range(25))
    fake.answers["check_suite"] = Binding(100, 75, 3, lost)
    result = run("eval", "check", "suite", "--least", "0.99")
    assert result.exit_code == 5
    assert "75 (75.00%), 3 of them at another place" in result.stdout
    assert "text is not in it any more" in result.stdout
    assert "and 5 more" in result.stdout
    assert "75.00% of the judgements are bound, and 99.00% are asked for" in result.stderr
    printed = document(run("eval", "check", "suite", "--json"))
    assert (printed["share"], printed["bound"], len(printed["unbound"])) == (0.75, 75, 25)
    assert run("eval", "check", "suite", "--least", "0.75").exit_code == 0


def test_documents_are_imported_without_a_database(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,document,grade\nWhy?,d,2\n")
    result = run(
        "eval", "import", "t.csv", "--format", "csv", "--into", "suite", "--source", "s", "--license", "CC0"
    )
    assert result.exit_code == 0, result.stderr
    assert "suite: 1 queries, 1 judgements" in result.stdout
    assert (
        tmp_path / "suite/suite.toml"
    ).read_text() == 'name = "suite"\nversion = "1"\nlicense = "CC0"\nsources = ["s"]\n'
    again = run("eval", "import", "t.csv", "--format", "csv", "--into", "suite")
    assert again.exit_code == 2
    assert "there is a suite already" in again.stderr


def test_spans_and_traces_are_imported_through_the_engine(run: Run, fake: FakeEngine, tmp_path: Path) -> None:
    fake.answers["import_spans"] = Imported("suite", 1, 2, ("odd",))
    printed = run("eval", "import", "6f1c", "7a", "--format", "traces", "--hits", "1,3", "--into", "suite")
    assert "suite: 1 queries, 2 judgements" in printed.stdout
    assert "warning: odd" in printed.stdout
    [(_, _, options)] = fake.calls
    assert [(g.trace_id, dict(g.grades)) for g in options["graded"]] == [
        ("6f1c", {1: 2, 3: 2}),
        ("7a", {1: 2, 3: 2}),
    ]
    (tmp_path / "t.csv").write_text("question,document,grade,start,end\nWhy?,d,2,0,5\n")
    run("eval", "import", "t.csv", "--format", "csv", "--into", "suite", "--source", "s")
    assert len(fake.calls[1][1][1].spans) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--format", "trec"], "--format trec takes topics and qrels"),
        (["a", "b", "--format", "beir"], "--format beir takes one folder"),
        (["a.csv", "--format", "csv", "--hits", "1"], "--hits is for traces"),
        (["none.csv", "--format", "csv"], "none.csv: cannot be read"),
    ],
)
def test_imports_that_cannot_be(run: Run, arguments: list[str], message: str) -> None:
    result = run("eval", "import", *arguments, "--into", "suite")
    assert result.exit_code == 2
    assert message in result.stderr
