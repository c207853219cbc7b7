"""Writing what was found as a document's text."""

from __future__ import annotations

from collections.abc import Sequence

from veraz.providers.parsers.grid import lay_out
from veraz.providers.parsers.outline import Outline
from veraz.providers.parsers.pdf.flow import Block, Part, list_depths, runs_of_items
from veraz.providers.parsers.pdf.hyphens import Joiner
from veraz.providers.parsers.pdf.layout import Line
from veraz.providers.parsers.pdf.tables import Table
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import storable


def write(parts: Sequence[Part], pages: int, join: Joiner) -> tuple[Outline, list[str]]:
    """The outline of the parts, with `pages` pages, and warnings."""
    writing = _Writing(join)
    for run in runs_of_items(parts):
        first = run[0]
        if isinstance(first, Table):
            writing.table(first)
        elif first.kind == "item":
            writing.list([part for part in run if isinstance(part, Block)])
        else:
            writing.block(first)
    writing.to_page(pages)
    return writing.out.outline(), writing.warnings


class _Writing:
    def __init__(self, join: Joiner) -> None:
        self.out = Writer()
        self.join = join
        self.page = 0
        self.warnings: list[str] = []

    def to_page(self, page: int) -> None:
        while self.page < page:
            self.out.page()
            self.page += 1

    def block(self, block: Block) -> None:
        self.out.close()
        self.to_page(block.first.page)
        if block.kind == "heading":
            self.out.heading(block.level, self.join([line.text for line in block.lines]))
        elif block.kind == "code":
            self.out.block("code", "\n".join(_indented(block.lines)))
        else:
            self.out.open("paragraph")
            self._lines(block.lines)
            self.out.close()

    def list(self, items: Sequence[Block]) -> None:
        self.out.close()
        self.to_page(items[0].first.page)
        self.out.open("list")
        for item, depth in zip(items, list_depths(items), strict=True):
            if self.out.start >= 0:
                self.out.raw("\n")
            self.to_page(item.first.page)
            self.out.raw("  " * depth)
            self._lines(item.lines, item.marker)
        self.out.close()

    def _lines(self, lines: Sequence[Line], marker: int = 0) -> None:
        """Running text, page by page: a page can begin inside it."""
        said = ""
        for number, line in enumerate(lines):
            text = _clean(line.text)
            if not number and marker:
                text = f"{text[:marker].strip()} {text[marker:]}"
            if said:
                said, glue = self.join.ends(said, text)
                said += glue
            if line.page > self.page:
                if said:
                    self.out.raw(said.replace("\u00ad", ""))
                said = ""
                self.to_page(line.page)
            said += text
        self.out.raw(said.replace("\u00ad", ""))

    def table(self, table: Table) -> None:
        self.out.close()
        self.to_page(table.page)
        try:
            grid = lay_out(table.cells)
        except ValueError as error:
            self.warnings.append(f"page {table.page}: {error} was left out")
            return
        self.out.table(grid, _clean(table.caption), breaks=table.breaks)
        self.page += len(table.breaks)


def _clean(text: str) -> str:
    return storable(text)[0]


def _indented(lines: Sequence[Line]) -> list[str]:
    """Lines of code with the indentation that they were printed with."""
    widths = [(line.x1 - line.x0) / len(line.text) for line in lines if len(line.text) > 3]
    width = sorted(widths)[len(widths) // 2] if widths else 6.0
    left = min(line.x0 for line in lines)
    return [" " * round((line.x0 - left) / max(width, 1.0)) + line.text for line in lines]
