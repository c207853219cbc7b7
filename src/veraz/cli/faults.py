"""Errors as people read them: what was wrong, where, and what to do. A traceback only with --debug."""

from __future__ import annotations

import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

import click

from veraz.cli import interrupt
from veraz.cli.output import emit
from veraz.cli.state import State
from veraz.errors import ItemError, VerazError


@dataclass(frozen=True, slots=True)
class Fault:
    what: str
    where: str | None
    fix: str | None
    exit_code: int


def tell(error: BaseException, state: State) -> int:
    """Prints the error, as JSON too if that was asked for and no document was printed yet; gives the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo(interrupt.last_words(), err=True)
        return interrupt.EXIT_CODE
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if type(error).__name__ == "NoArgsIsHelpError":  # from click 8.2 on; `veraz` alone asks for help
        click.echo(str(error), err=True)
        return 2
    error = _innermost(error)
    if state.debug:
        traceback.print_exception(error)
    fault = describe(error)
    click.echo(as_text(fault), err=True)
    if state.json and not state.emitted:
        emit(state, {"error": asdict(fault)})
    return fault.exit_code


def describe(error: BaseException) -> Fault:
    if isinstance(error, ItemError):
        place = " ".join(
            part for part in (error.path, f"({error.external_id})" if error.external_id else "") if part
        )
        return Fault(
            error.reason, f"{place or 'input'}, while it was to {error.stage}", error.fix, error.exit_code
        )
    if isinstance(error, VerazError):
        return Fault(error.what, None, error.fix, error.exit_code)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if _is_operational(error):
        return Fault(
            f"the database stopped the work: {_first_line(error)}",
            None,
            "see `veraz status`, then run it again",
            3,
        )
    return Fault(
        f"unexpected {type(error).__name__}: {_first_line(error)}",
        _place(error.__traceback__),
        "run it again with --debug, and report the traceback: this is a bug in Veraz",
        1,
    )


def as_text(fault: Fault) -> str:
    lines = [f"error: {fault.what}"]
    lines += [f"  where: {fault.where}"] if fault.where else []
    lines += [f"  fix: {fault.fix}"] if fault.fix else []
    return "\n".join(lines)


def _usage(error: click.ClickException) -> Fault:
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else "veraz"
    return Fault(error.format_message(), command, _usage_fix(error, context, command), 2)


def _usage_fix(error: click.ClickException, context: click.Context | None, command: str) -> str:
    """Where the command takes free text, a question such as `-the` was perhaps not meant as an option."""
    text = context is not None and any(isinstance(p, click.Argument) for p in context.command.params)
    if not text or not isinstance(error, click.NoSuchOption | click.BadOptionUsage):
        return f"see {command} --help"
    if error.option_name.startswith("--") and " " not in error.option_name:  # a misspelt option
        return f"see {command} --help"
    return f"see {command} --help; text that begins with a hyphen comes last, after --: {command} [OPTIONS] -- '-…'"


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _is_operational(error: BaseException) -> bool:
    """Asked of the loaded module only: a command that never opened a database must not load the driver to fail."""
    driver = sys.modules.get("psycopg")
    return driver is not None and isinstance(error, driver.OperationalError)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["without a message"])[0]


def _place(trace: TracebackType | None) -> str | None:
    """The innermost line of Veraz itself."""
    frames = [f for f in traceback.extract_tb(trace) if "veraz" in Path(f.filename).parts]
    if not frames:
        return None
    parts = Path(frames[-1].filename).parts
    inside = parts[len(parts) - 1 - parts[::-1].index("veraz") :]
    return f"{'/'.join(inside)}:{frames[-1].lineno} in {frames[-1].name}"
