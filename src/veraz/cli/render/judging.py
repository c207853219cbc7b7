"""The screen of a judge: the question, where a passage stands, its text page by page, and the keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from veraz.cli.render.console import joined, text

if TYPE_CHECKING:
    from veraz.evaluation.judging.session import Progress, Task

KEYS = "s skip · u undo · q end"
WORD = re.compile(r"\w{4,}")


class Screen:
    """Draws one passage at a time. A passage that is longer than the screen has pages; another passage begins at its first."""

    def __init__(self, out: Console, grades: Mapping[int, str]) -> None:
        self._out = out
        self._grades = grades
        self._page = 0
        self._pages = 1
        self._shown: Task | None = None
        self._note = ""

    def __enter__(self) -> Self:
        self._out.set_alt_screen(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.set_alt_screen(False)

    @property
    def closing(self) -> str:
        """What gives the terminal back, for who leaves without `__exit__`."""
        return "\x1b[?1049l" if self._out.is_alt_screen else ""

    def say(self, note: str) -> None:
        """One line that stands above the keys until the next one."""
        self._note = note

    def turn(self, pages: int) -> None:
        self._page = min(max(self._page + pages, 0), self._pages - 1)

    def show(self, task: Task, progress: Progress) -> None:
        if task is not self._shown:
            self._shown, self._page = task, 0
        head, body, foot = self._head(task, progress), self._body(task), self._foot()
        room = max(
            self._out.height - sum(map(self._lines, (*head, *foot))) - 3, 3
        )  # a blank, the page, the cursor
        self._pages = max(-(-len(body) // room), 1)
        self._page = min(self._page, self._pages - 1)
        page = body[self._page * room : (self._page + 1) * room]
        self._out.clear()
        for line in (*head, Text(), *page, *(Text() for _ in range(room - len(page)))):
            self._out.print(line)
        self._out.print(self._turning(), no_wrap=True, overflow="ellipsis")  # one line, as `room` has it
        for line in foot:
            self._out.print(line)
        self._note = ""

    def _head(self, task: Task, progress: Progress) -> list[Text]:
        passage, request = task.passage, task.request
        where = joined(
            [
                f"question {task.question} of {task.questions}",
                f"passage {task.number} of {task.passages}",
                f"{progress.judged:,} of {progress.total:,} judged",
                f"{progress.skipped} skipped" if progress.skipped else None,
            ]
        )
        asked = joined([f"as of {request.as_of}" if request.as_of else None, *request.facets])
        stands = joined([passage.title, " › ".join(passage.heading_path), str(passage.revised_at or "")])
        where.stylize("dim")
        asked.stylize("dim")
        stands.stylize("cyan")
        lines = [where, text(request.text, "bold"), asked if asked.plain else None, Text(), stands]
        return [line for line in lines if line is not None]

    def _body(self, task: Task) -> list[Text]:
        shown = text(task.passage.text.strip("\n"))
        for word in {w.lower() for w in WORD.findall(task.request.text)}:
            shown.highlight_regex(rf"(?i)\b{re.escape(word)}\w*", "bold yellow")
        return list(shown.wrap(self._out, self._out.width))

    def _foot(self) -> list[Text]:
        keys = " · ".join(f"{grade} {meaning}" for grade, meaning in self._grades.items())
        return [text(self._note, "red"), text(keys, "bold"), text(KEYS, "dim")]

    def _turning(self) -> Text:
        if self._pages == 1:
            return Text()
        return text(f"page {self._page + 1} of {self._pages}: space goes on, b goes back", "dim")

    def _lines(self, line: Text) -> int:
        return max(len(line.wrap(self._out, self._out.width)), 1)
