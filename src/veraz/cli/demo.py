"""`veraz demo`"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veraz.cli import interrupt
from veraz.cli.options import verb
from veraz.cli.output import emit
from veraz.cli.render.answer import show_answer
from veraz.cli.render.bars import Bars, open_bars
from veraz.cli.render.console import console, counted, text
from veraz.cli.session import with_engine
from veraz.cli.state import State
from veraz.errors import CheckFailed

if TYPE_CHECKING:
    from rich.console import Console

    from veraz.demo import DemoQuestion
    from veraz.nouns.answer import Answer
    from veraz.nouns.corpus import IngestReport

TENANT = "demo"

Played = tuple["IngestReport", list[tuple["DemoQuestion", "Answer"]]]


@verb("demo", example="veraz demo")
@click.pass_obj
def command(state: State) -> None:
    """Ingest a small bundled corpus and answer four questions from it.

    A cited answer, two sources that disagree, an honest refusal, an emergency that is routed. Everything goes into the
    tenant "demo"; running it again ingests nothing twice. Exit code 5 when an outcome is not the expected one.
    """
    state.tenant = state.tenant or TENANT
    out = console()
    shown = _silent if state.json else _printer(out)
    with (
        open_bars() as bars,
        interrupt.saying(lambda: "stopped: what was ingested is kept; veraz demo continues from there"),
    ):
        report, answers = with_engine(
            state, lambda engine: _play(engine, state.tenant or TENANT, bars, out, state, shown), bars=bars
        )
    if state.json:
        listed = [
            {"shows": q.shows, "expected": q.outcome, "question": q.question, "answer": a} for q, a in answers
        ]
        emit(state, {"ingest": report, "questions": listed})
    else:
        _show_next(out, state.tenant or TENANT, answers)
    _check(answers)


async def _play(
    engine: Any,
    tenant: str,
    bars: Bars,
    out: Console,
    state: State,
    shown: Callable[[int, DemoQuestion, Answer], None],
) -> Played:
    from veraz.demo import CORPUS, DEMO_QUESTIONS

    await engine.ensure_tenant(tenant)
    bars.show("ingest", 0, None, "reading and embedding the bundled corpus")
    report = await engine.ingest(
        [str(CORPUS)],
        source="demo",
        name="Veraz demonstration",
        license="CC0-1.0",
        progress=lambda tally: bars.show("ingest", tally.seen, None, counted(tally.seen, "document")),
    )
    bars.clear()
    if not state.json:
        known = report.documents + report.unchanged
        out.print(
            text(f"{counted(known, 'document')} in tenant {tenant}: demonstration texts, not medical advice.")
        )
    answers = []
    for number, question in enumerate(DEMO_QUESTIONS, 1):
        answers.append((question, await engine.ask(question.question, lang=question.lang)))
        shown(number, *answers[-1])
    return report, answers


def _silent(_number: int, _question: DemoQuestion, _answer: Answer) -> None:
    return None


def _printer(out: Console) -> Callable[[int, DemoQuestion, Answer], None]:
    def show(number: int, question: DemoQuestion, answer: Answer) -> None:
        out.print()
        out.rule(text(f"{number}. {question.shows[0].upper()}{question.shows[1:]}", "bold"), align="left")
        out.print(
            text(
                f'veraz ask "{question.question}" --tenant {answer.access.get("tenant", TENANT)}', "bold cyan"
            )
        )
        out.print()
        show_answer(out, answer)

    return show


def _show_next(out: Console, tenant: str, answers: list[tuple[DemoQuestion, Answer]]) -> None:
    from veraz.demo import SUPERSEDED_QUESTION

    trace = str(answers[0][1].trace_id)[:8]
    out.print()
    out.rule(text("To try next", "bold"), align="left")
    for comment, line in (
        *activation(),
        (
            "guidance that was replaced, named and never cited",
            f'veraz ask "{SUPERSEDED_QUESTION.question}" --tenant {tenant}',
        ),
        ("why the first answer was given", f"veraz why {trace} --tenant {tenant}"),
        ("your own documents", "veraz ingest path/to/documents --source mine"),
    ):
        out.print(text(f"# {comment}", "dim"))
        out.print(text(line), soft_wrap=True)


def activation() -> list[tuple[str, str]]:
    """What puts `veraz` on the path, where the shell that ran `make demo` does not find it."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("veraz") or not script.is_file():
        return []
    here = Path.cwd()
    shown = script.relative_to(here) if script.is_relative_to(here) else script
    return [("first, so that this shell finds veraz", f". {shlex.quote(str(shown))}")]


def _check(answers: list[tuple[DemoQuestion, Answer]]) -> None:
    wrong = [f"{q.question!r} was {a.outcome}, not {q.outcome}" for q, a in answers if a.outcome != q.outcome]
    if wrong:
        raise CheckFailed(
            "the demonstration does not show what it should: " + "; ".join(wrong),
            fix="report it, with `veraz status`",
        )
