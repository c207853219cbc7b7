"""`veraz`: finds the verb, loads its file only then, and turns whatever goes wrong into a message and an exit code."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, NoReturn

import click

from veraz import __version__
from veraz.cli import faults, interrupt
from veraz.cli.options import VerbGroup, takes_debug
from veraz.cli.state import State

VERBS = {
    "init": "Create or upgrade the schema; safe to repeat.",
    "status": "Server, schema, spaces, counts, index and vacuum health.",
    "server": "The embedded server: start, stop, logs, url, destroy.",
    "ingest": "Read files, folders, globs and collections into a source.",
    "delete": "Remove a document; gone from the next query on.",
    "restore": "Bring a deleted document back.",
    "access": "Who may read a document.",
    "supersede": "Say that a document is replaced by another one, or is not.",
    "retention": "How long what is no longer current is kept: show, set, run.",
    "show": "A document: sections, chunks, revisions, supersession chain.",
    "repeated": "What several documents of a source say to the letter.",
    "search": "The chunks that answer a question best.",
    "ask": "An answer with citations, a conflict, a refusal or a fixed route.",
    "context": "The passages that a reader of a question needs, within a budget.",
    "why": "Explain a search or an answer from its stored trace alone.",
    "diagnose": "Which stage lost a passage, and what brings it back.",
    "eval": "Measure retrieval on judged queries.",
    "index": "Look after the indexes: build, measure.",
    "tenant": "Tenants: list, add, disable, enable, remove.",
    "key": "API keys: add, list, revoke.",
    "demo": "Answer four questions from a small bundled corpus.",
}
"""Verb to the line that `veraz --help` shows for it: reading that list must not import a verb."""


class _ReaderIsGone(Exception):
    """Nobody reads standard output any more."""


class Application(VerbGroup):
    """The top command. `main` is the one place where errors become exit codes."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"veraz.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BrokenPipeError as error:  # as an OSError, click would turn it into exit code 1
            raise _ReaderIsGone from error

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        state = State(debug=takes_debug(arguments))
        extra.update(standalone_mode=False, obj=state)
        sys.exit(
            _guarded(
                lambda: super(Application, self).main(arguments, prog_name or "veraz", **extra),
                state,
                arguments,
            )
        )


def _guarded(run: Callable[[], Any], state: State, arguments: Sequence[str]) -> int:
    try:
        code = run()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (_ReaderIsGone, BrokenPipeError):
        return _leave_quietly()
    except BaseException as error:
        state.json = state.json or "--json" in arguments
        try:
            return faults.tell(error, state)
        except BrokenPipeError:
            return _leave_quietly()


def _leave_quietly() -> int:
    """`veraz search … | head -1`: the rest has no reader. The code is that of a process ended by SIGPIPE."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.close()
    sys.stdout = sys.__stdout__ = None  # type: ignore[misc]
    return 141


def _settings() -> MutableMapping[str, Any]:
    return {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=Application,
    context_settings=_settings(),
    example='veraz demo\nveraz ingest docs/ --source handbook\nveraz ask "How long should a burn be cooled?"',
)
@click.version_option(__version__, message="veraz %(version)s")
def app() -> None:
    """Hybrid retrieval and cited answers on PostgreSQL."""


def main() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(
            stream, "reconfigure"
        ):  # a character that the terminal cannot show must not end the command
            stream.reconfigure(errors="replace")
    interrupt.install()
    app.main()


if __name__ == "__main__":
    main()
