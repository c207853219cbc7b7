"""`veraz eval judge` and `veraz eval agreement`"""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from veraz.cli import interrupt
from veraz.cli.eval import MODES, command
from veraz.cli.options import WORDS, subverb
from veraz.cli.output import emit
from veraz.cli.render.bars import open_bars
from veraz.cli.render.console import console, counted, error_console, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import UsageError
from veraz.nouns.evidence import Mode

if TYPE_CHECKING:
    from veraz.cli.render.judging import Screen
    from veraz.evaluation.judging.session import JudgingSession

ONE_KEY = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O.)|.", re.S)
QUIT, SKIP, UNDO = ("q", "\x03", "\x04", "\x1b"), ("s", "n"), ("u", "\x7f", "\b")
DOWN, UP = (" ", "\r", "\n", "j", "\x1b[B", "\x1bOB", "\x1b[6~"), ("b", "k", "\x1b[A", "\x1bOA", "\x1b[5~")


@subverb(
    command,
    "judge",
    example="veraz eval judge suites/leaflets --mode all --judge ana\n"
    "veraz eval judge suites/leaflets --runs runs/before --runs runs/after --depth 20",
)
@click.argument("suite", metavar="SUITE", type=click.Path(path_type=Path))
@click.option(
    "--runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Pool the results of this run: a folder that eval run --out wrote. May be repeated.",
)
@click.option(
    "--mode",
    "modes",
    type=click.Choice([*MODES, "all"]),
    multiple=True,
    help="Pool the results of searches now (default without --runs: all). May be repeated.",
)
@click.option(
    "--depth",
    type=click.IntRange(1, 1000),
    default=10,
    metavar="N",
    help="How many results of each (default: 10).",
)
@click.option("--judge", type=WORDS, metavar="NAME", help="Who judges (default: your login name).")
@click.pass_obj
def judge(
    state: State,
    /,
    suite: Path,
    runs: tuple[Path, ...],
    modes: tuple[str, ...],
    depth: int,
    judge: str | None,
) -> None:
    """Judge passages for the questions of SUITE, one after the other, by single keys.

    The top results of all runs are pooled: each passage comes once, in an order that tells nothing of who found it. 0 is not
    relevant, 1 helps, 2 answers; s skips, u takes the last one back, space and b turn pages, q ends. Each grade is in the suite's
    judgements.jsonl at once: stop whenever you like, and go on later with the same command.
    """
    from veraz.cli.render.judging import Screen

    chosen: tuple[Mode, ...] = MODES if "all" in modes or not (modes or runs) else _distinct(modes)
    with open_bars() as bars:
        session = with_engine(
            state,
            lambda engine: engine.judging(
                suite,
                judge=judge or _login(),
                runs=runs,
                modes=chosen,
                depth=depth,
                progress=lambda done, total: bars.show(
                    "pool", done, total, f"{done:,} of {total:,} questions"
                ),
            ),
            bars=bars,
        )
    before = session.progress.judged
    screen = Screen(error_console(), session.grades)
    with interrupt.saying(lambda: f"{screen.closing}stopped: every grade is kept; run it again to go on"):
        _judge_all(session, screen, click.getchar)
    progress = session.progress
    done = {
        "judged": progress.judged - before,
        "left": progress.total - progress.judged,
        "total": progress.total,
    }
    if state.json:
        emit(state, {**done, "judge": session.judge, "file": session.file})
        return
    out = console()
    out.print(
        text(f"{counted(done['judged'], 'passage')} judged now, {done['left']:,} of {done['total']:,} left")
    )
    out.print(text(f"kept in {session.file}" + ("; run it again to go on" if done["left"] else "")))


@subverb(command, "agreement", example="veraz eval agreement suites/leaflets")
@click.argument("suite", metavar="SUITE", type=click.Path(path_type=Path))
@click.pass_obj
def agreement(state: State, /, suite: Path) -> None:
    """How far judges of SUITE agree on the passages that they both judged.

    Kappa is Cohen's with quadratic weights: 1 for the same grades, 0 for what chance gives. Where two judges are two grades or
    more apart, the passage is listed: look at it together.
    """
    from veraz.cli.render.suites import show_agreements
    from veraz.evaluation.dataset import load_suite
    from veraz.evaluation.judging.agreement import agreements

    found = agreements(load_suite(suite).judgements)
    if state.json:
        emit(state, {"suite": str(suite), "pairs": found})
    else:
        show_agreements(console(), found)


def _judge_all(session: JudgingSession, screen: Screen, read_key: Callable[[], str]) -> None:
    """Until nothing is left or the judge ends it."""
    with screen:
        while task := session.current():
            screen.show(task, session.progress)
            key = _key(read_key)
            if key in QUIT:
                return
            if key.isdecimal() and int(key) in session.grades:
                session.grade(int(key))
            elif key in SKIP:
                session.skip()
            elif key in UNDO:
                if not session.undo():
                    screen.say("nothing to take back")
            elif key in DOWN + UP:
                screen.turn(1 if key in DOWN else -1)
            else:
                screen.say("0, 1, 2; s skip, u undo, space and b turn pages, q end")


def _key(read_key: Callable[[], str]) -> str:
    """One key; of several that came at once the first, for the others were pressed before their passage was shown. Ctrl-C, Ctrl-D
    and an input that is over end the session."""
    try:
        found = ONE_KEY.match(read_key())
        return found[0] if found else ""
    except (KeyboardInterrupt, EOFError):
        return QUIT[0]
    except OSError as error:
        raise UsageError("judging needs a terminal to read keys from", fix="run it in one") from error


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise UsageError("no login name says who judges", fix="say it: --judge NAME") from error


def _distinct(modes: tuple[str, ...]) -> tuple[Mode, ...]:
    return tuple(mode for mode in MODES if mode in modes)
