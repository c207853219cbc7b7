"""The two consoles, and text made safe and short for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from veraz.nouns.answer import Citation
    from veraz.nouns.evidence import DocumentRef

DEFAULT_TENANT = "default"

# C0 and C1 controls but tab and newline: a document must not move the cursor or set the title of its reader's terminal.
# Bidirectional overrides: nor show a text in another order than it was written.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def console() -> Console:
    return _console(stderr=False)


def error_console() -> Console:
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """Made for each use, since the streams may be swapped. NO_COLOR gives text without any escape sequence."""
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, color_system=None if plain else "auto"
    )


def clean(text: str) -> str:
    """`text` without what a terminal would obey."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def text(value: object, style: str = "") -> Text:
    return Text(clean(str(value)), style=style)


def joined(parts: Iterable[Text | str | None], separator: str = " · ") -> Text:
    """The parts that are not empty, as one text."""
    return Text(separator, style="dim").join(_kept(parts))


def _kept(parts: Iterable[Text | str | None]) -> list[Text]:
    return [part if isinstance(part, Text) else text(part) for part in parts if part]


def show_parts(
    out: Console, parts: Iterable[Text | str | None], indent: int = 0, *, label: Text | None = None
) -> None:
    """`a · b · c`, broken between parts where the line is full, and inside one only where it alone is too long."""
    line: list[Text] = []
    for part in _kept(parts):
        if line and joined([*line, part]).cell_len > out.width - indent:
            show_indented(out, joined(line), indent, label=label)
            line, label = [], None
        line.append(part)
    if line:
        show_indented(out, joined(line), indent, label=label)


def path_of(title: str, heading_path: Iterable[str]) -> str:
    """`title › heading › heading`, without the title twice where the document's first heading repeats it."""
    headings = [one_line(h) for h in heading_path]
    name = one_line(title)
    if headings and headings[0].casefold() == name.casefold():
        headings = headings[1:]
    return " › ".join(part for part in (name, *headings) if part)


def revised(day: date | str | None) -> str:
    return f"revised {day}" if day else "undated"


def explained_by(trace_id: UUID, tenant: str | None) -> str:
    """The command that explains a trace, for the tenant that it belongs to."""
    of_tenant = f" --tenant {tenant}" if tenant and tenant != DEFAULT_TENANT else ""
    return f"explained by: veraz why {trace_id}{of_tenant}"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(count: int) -> str:
    """Bytes: `0.4 MB`, `1.25 GB`."""
    return f"{count / 2**20:,.1f} MB" if count < 2**30 else f"{count / 2**30:,.2f} GB"


def duration(seconds: float) -> str:
    """`0.8 s`, `42 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Judged(Protocol):
    @property
    def sufficiency(self) -> float | None: ...

    @property
    def threshold(self) -> float | None: ...


def sufficiency_of(judged: Judged) -> Text | None:
    """`sufficiency 0.91 (threshold 0.50)`"""
    if judged.sufficiency is None:
        return None
    limit = f" (threshold {judged.threshold:.2f})" if judged.threshold is not None else ""
    return text(f"sufficiency {judged.sufficiency:.2f}{limit}", "dim")


_STAGES = (
    "route",
    "embed",
    "search",
    "plan",
    "arms",
    "spelling",
    "repair",
    "fuse",
    "read",
    "rerank",
    "sufficiency",
    "evidence",
    "compose",
    "supersession",
    "assembly",
    "total",
)


def timings(stages: Mapping[str, float]) -> list[Text]:
    """`embed 12 ms`, `arms 4 ms`, `total 19 ms`, in the order in which the stages run: a stored trace has lost it."""
    ordered = sorted(stages.items(), key=lambda stage: _STAGES.index(stage[0]) if stage[0] in _STAGES else -1)
    return [text(f"{name} {_milliseconds(value)}", "dim") for name, value in ordered]


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def show_pairs(out: Console, rows: Iterable[tuple[str, Any]]) -> None:
    """Names and values in two columns; empty values are left out, long ones continue below themselves."""
    kept = [
        (name, value if isinstance(value, Text) else text(value))
        for name, value in rows
        if value or value == 0
    ]
    width = max((len(name) for name, _ in kept), default=0) + 2
    for name, value in kept:
        show_indented(out, value, width, label=text(name, "dim"))


def show_indented(out: Console, content: Text, indent: int, *, label: Text | None = None) -> None:
    """Wrapped lines `indent` columns from the left, the first one beside `label`; without blanks at their ends."""
    for line in content.wrap(out, max(out.width - indent, 20)):
        line.rstrip()
        before = label or Text()
        before.pad_right(indent - before.cell_len)
        out.print(before + line if line else "", soft_wrap=True)
        label = None


def plain_table(*columns: str, right: Iterable[str] = ()) -> Table:
    """A table with a rule below its head only: it survives copying and a pipe."""
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def standing(cited: Citation | DocumentRef, *, current: str = "") -> Text | None:
    """What a reader must know before relying on it: replaced and by what, no longer the current revision, expired, or only to
    hold from a later day."""
    today = datetime.now(UTC).date()
    said = [_not_yet(cited, today), _replaced(cited) or _outdated(cited, today)]
    if any(said):
        return text("; ".join(filter(None, said)), "bold red")
    return text(current, "green") if current else None


def _not_yet(cited: Citation | DocumentRef, today: date) -> str:
    if cited.holds_from is None or cited.holds_from <= today:
        return ""
    held = cited.in_force
    which = f" of {held.external_id}" if held and held.external_id != cited.external_id else ""
    until = f", until then revision {held.revision}{which}" if held else ""
    return f"holds from {cited.holds_from.isoformat()}{until}"


def _replaced(cited: Citation | DocumentRef) -> str:
    since = cited.superseded_since
    if cited.superseded_by is None and since is None:
        return ""
    by = cited.superseded_by or "a document that was deleted or that you may not read"
    day = f" from {since.isoformat()}" if since and since.year > 1 else ""
    end = cited.successor
    link = f", see {one_line(end.title)} {end.url or f'({end.external_id})'}" if end else ""
    return f"superseded by {by}{day}{link}"


def _outdated(cited: Citation | DocumentRef, today: date) -> str:
    if not cited.is_current:
        held = cited.in_force
        if held and (held.external_id, held.revision) == (cited.external_id, cited.revision):
            return f"revision {cited.revision} holds until revision {cited.current_revision} follows on {cited.current_since}"
        return f"revision {cited.revision}, no longer current: revision {cited.current_revision} is"
    if cited.valid_to is not None and cited.valid_to < today:
        return f"valid until {cited.valid_to.isoformat()}"
    return ""
