"""Progress on stderr: bars in a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from veraz.cli.render.console import error_console

PREPARING = "model"
EVERY_SECONDS = 10.0
"""Between two lines where there is no terminal."""


class Bars(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def say(self, line: str) -> None:
        """One line about something slow that begins."""
        ...

    def show(self, name: str, done: int, total: int | None, detail: str = "") -> None:
        """The state of the work called `name`; it ends when `done` reaches `total`."""
        ...

    def clear(self) -> None:
        """Takes the display away, so that results can be printed."""
        ...

    def model(self, stage: str, done: int, total: int) -> None:
        """What an embedder reports while its model is prepared."""
        ...


def open_bars() -> Bars:
    return TerminalBars() if error_console().is_terminal else LogBars()


class TerminalBars:
    """One rich display, begun with the first progress, so that quick commands never draw it."""

    def __init__(self) -> None:
        self._console = error_console()
        self._display: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        if self._display:
            self._display.stop()
            self._display = None
            self._tasks.clear()

    def say(self, line: str) -> None:
        (self._display.console if self._display else self._console).print(f"{line} …", style="dim")

    def show(self, name: str, done: int, total: int | None, detail: str = "") -> None:
        display = self._started()
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = display.add_task(name, total=total, detail="")
        display.update(task, completed=done, total=total, detail=detail)

    def model(self, stage: str, done: int, total: int) -> None:
        self.show(PREPARING, done, total, stage)
        if done >= total and self._display:
            self._display.update(self._tasks[PREPARING], visible=False)

    def _started(self) -> Progress:
        if self._display is None:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=16),
                TextColumn("{task.fields[detail]}", markup=False),
            )
            self._display = Progress(*columns, console=self._console, transient=True)
            self._display.start()
        return self._display


class LogBars:
    """Plain lines, at most one in EVERY_SECONDS for each piece of work, and none for work that is over sooner."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = error_console()
        self._clock = clock
        self._last: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        return None

    def say(self, line: str) -> None:
        self._console.print(f"{line} …")

    def show(self, name: str, done: int, total: int | None, detail: str = "") -> None:  # noqa: ARG002
        now = self._clock()
        if now - self._last.setdefault(name, now) >= EVERY_SECONDS:
            self._last[name] = now
            self._console.print(f"{name}: {detail}")

    def model(self, stage: str, done: int, total: int) -> None:
        self.show(PREPARING, done, total, f"{stage}, {100 * done // max(total, 1)} %")
