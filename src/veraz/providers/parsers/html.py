"""HTML: what a reader of the page would read, as text with its headings, lists, tables and code.

`text` is the extracted text and offsets are into it. Navigation, page headers and footers, asides,
scripts, form controls and everything hidden are left out. The walk is a loop, not a recursion, so depth
costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.file import decoded, document
from veraz.providers.parsers.grid import Cell, Grid, lay_out
from veraz.providers.parsers.outline import Outline
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import storable

VERSION = "html/2"

_DROPPED = frozenset({
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math", "canvas", "audio",
    "video", "map", "head", "nav", "aside", "button", "select", "datalist", "textarea", "input", "dialog",
})  # fmt: skip
_BLOCKS = frozenset({
    "address", "article", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "header", "hgroup", "html", "legend", "li", "main", "ol", "p", "search",
    "section", "summary", "ul", "caption",
})  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_MAX_SPAN = 100


class HtmlParser:
    """Title from `<title>` or the first heading, language from `<html lang>`, URL from the canonical link."""

    def parse(self, item: RawItem) -> ParsedDocument:
        found = decoded(item)
        tree = LexborHTMLParser(found.text)
        stated: Stated = {"lang": _language(tree), "url": _canonical(tree)}
        made = _outline(tree)
        return document(item, made, VERSION, title="", stated=stated, warnings=found.warnings)


def outline(text: str) -> Outline:
    """The outline of HTML source; its `text` is what was extracted, not the source."""
    return _outline(LexborHTMLParser(text))


def _outline(tree: LexborHTMLParser) -> Outline:
    writer = Writer()
    if tree.body is not None:
        _Walk(writer, _layout(tree)).run(tree.body)
    writer.close()
    title = _page_title(tree) or next((h.title for h in writer.headings if h.level == 1), "")
    title = title or next((h.title for h in writer.headings), "")
    return writer.outline(title)


# Head


def _attribute(node: LexborNode | None, name: str) -> str:
    return ((node.attributes.get(name) if node is not None else None) or "").strip()


def _page_title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("head title") or tree.css_first("title")
    return " ".join(storable(node.text())[0].split()) if node is not None else ""


def _language(tree: LexborHTMLParser) -> str | None:
    node = tree.css_first("html")
    return language_code(_attribute(node, "lang") or _attribute(node, "xml:lang"))


def _canonical(tree: LexborHTMLParser) -> str | None:
    url = _attribute(tree.css_first("link[rel=canonical]"), "href")
    return storable(url)[0] if url.startswith(("http://", "https://")) else None


# Walking


class _Walk:
    """Visits the tree in reading order with entry and exit of every element."""

    def __init__(self, writer: Writer, layout: frozenset[int] = frozenset()) -> None:
        self.out = writer
        self.layout = layout
        self.lists: list[_List] = []
        self.quotes = 0

    def run(self, root: LexborNode) -> None:
        node: LexborNode | None = root
        depth = 0
        while node is not None:
            child = node.child if self._enter(node) else None
            if child is not None:
                node, depth = child, depth + 1
                continue
            while node is not None:
                self._leave(node)
                if depth == 0:
                    return
                if node.next is not None:
                    node = node.next
                    break
                node, depth = node.parent, depth - 1

    def _enter(self, node: LexborNode) -> bool:
        """Writes what the node begins with. False: its children are not to be visited."""
        tag = node.tag
        if tag == "-text":
            self.out.words(storable(node.text_content or "")[0])
            return False
        if not node.is_element_node or tag in _DROPPED or _is_hidden(node):
            return False
        if tag in ("header", "footer") and not _inside_article(node):
            return False
        return self._enter_element(node, tag or "")

    def _enter_element(self, node: LexborNode, tag: str) -> bool:
        if tag == "br":
            self.out.line(self._indent())
        elif tag == "hr":
            self._paragraph()
        elif tag == "pre":
            self._code(node)
            return False
        elif tag == "table" and node.mem_id not in self.layout and _is_data(node):
            self._table(node)
            return False
        elif tag in _HEADINGS and not self.lists:
            self.out.open("paragraph", _HEADINGS[tag])
        elif tag in ("ul", "ol", "dl"):
            self._open_list(node, tag)
        elif tag in ("li", "dt", "dd") and self.lists:
            self.out.line(self.lists[-1].lead(tag, len(self.lists)))
        elif tag == "blockquote":
            self.quotes += 1
            self._paragraph()
        elif tag in _BLOCKS or tag in _HEADINGS or tag in ("tr", "td", "th", "table"):
            self._paragraph()
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if self.lists and self.lists[-1].node == node.mem_id:
            self.lists.pop()
            if not self.lists:
                self.out.close()
        elif tag == "blockquote" and self.quotes and not _is_hidden(node):
            self._paragraph()
            self.quotes -= 1
            self._paragraph()
        elif tag in _HEADINGS or tag in _BLOCKS or tag in ("tr", "td", "th", "table"):
            self._paragraph()

    def _paragraph(self) -> None:
        """A block begins or ends. Inside a list that is a new line of the item."""
        if not self.lists:
            self.out.open("quote" if self.quotes else "paragraph")
        elif self.out.start >= 0 and not self.out.pending.startswith("\n"):
            self.out.line(self._indent())

    def _indent(self) -> str:
        return "  " * len(self.lists)

    def _open_list(self, node: LexborNode, tag: str) -> None:
        if not self.lists and node.mem_id in self.layout:
            self._paragraph()  # a list that lays out the page
            return
        if not self.lists:
            self.out.open("list")
        self.lists.append(_List(node.mem_id, tag, _start_number(node)))

    def _code(self, node: LexborNode) -> None:
        code = storable(node.text())[0].strip("\r\n").rstrip()
        if not code.strip():
            return
        if self.lists:
            self.out.line(self._indent())
        else:
            self.out.open("code")
        self.out.raw(code)
        self._paragraph()

    def _table(self, node: LexborNode) -> None:
        caption = node.css_first("caption")
        self.out.table(_grid(node), _words(caption) if caption is not None else "")


@dataclass(slots=True)
class _List:
    node: int
    tag: str
    number: int

    def lead(self, tag: str, depth: int) -> str:
        indent = "  " * (depth - 1)
        if tag == "dd":
            return f"{indent}  "
        if self.tag == "ol":
            self.number += 1
            return f"{indent}{self.number - 1}. "
        return f"{indent}- "


def _start_number(node: LexborNode) -> int:
    start = _attribute(node, "start")
    return int(start) if start.isdecimal() and len(start) < 7 else 1


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    style = attributes.get("style")
    hidden = "hidden" in attributes and attributes["hidden"] != "until-found"
    return hidden or attributes.get("aria-hidden") == "true" or bool(style and _HIDDEN_STYLE.search(style))


def _inside_article(node: LexborNode) -> bool:
    """The header of an article holds its title; that of the page holds a logo and a menu. Looks up a
    bounded way."""
    above = node.parent
    for _ in range(50):
        if above is None:
            return False
        if above.tag in ("article", "main"):
            return True
        above = above.parent
    return False


def _layout(tree: LexborHTMLParser) -> frozenset[int]:
    """Tables and lists that only lay out the page: they hold headings, (other) tables or code blocks.

    Each climb ends at the first ancestor that an earlier climb has passed, so the whole is linear.
    """
    passed: set[int] = set()
    found: set[int] = set()
    for node in tree.css("h1,h2,h3,h4,h5,h6,table,pre"):
        above = node.parent
        while above is not None and above.mem_id not in passed:
            passed.add(above.mem_id)
            if above.tag in ("ul", "ol", "dl") or (above.tag == "table" and node.tag != "pre"):
                found.add(above.mem_id)
            above = above.parent
    return frozenset(found)


# Tables


def _is_data(node: LexborNode) -> bool:
    """Whether a table shows data, and is not a single column or declared to be layout."""
    if _attribute(node, "role") in ("presentation", "none"):
        return False
    return node.css_first("th") is not None or node.css_first("td + td") is not None


def _grid(table: LexborNode) -> Grid:
    """Header rows are those of `<thead>`, and leading rows of `<th>` alone."""
    cells: list[Cell] = []
    taken: dict[int, int] = {}  # by column, the first row that a cell above leaves free
    number = 0
    in_head = True
    for row in table.css("tr"):
        if _is_hidden(row):
            continue
        found = [cell for cell in _children(row) if cell.tag in ("td", "th") and not _is_hidden(cell)]
        stated = row.parent is not None and row.parent.tag == "thead"
        in_head = in_head and (stated or (bool(found) and all(cell.tag == "th" for cell in found)))
        column = 0
        for cell in found:
            while taken.get(column, 0) > number:
                column += 1
            rows, columns = _span(cell, "rowspan"), _span(cell, "colspan")
            cells.append(Cell(number, column, _words(cell), rows, columns, in_head))
            taken.update(dict.fromkeys(range(column, column + columns), number + rows))
            column += columns
        number += 1
    return lay_out(_clipped(cells, number))


def _clipped(cells: list[Cell], height: int) -> list[Cell]:
    """A row span ends with the table, and that of a header with the header."""
    headers = max((cell.row for cell in cells if cell.header), default=-1) + 1
    return [
        replace(cell, rows=max(1, min(cell.rows, (headers if cell.header else height) - cell.row)))
        for cell in cells
    ]


def _span(cell: LexborNode, name: str) -> int:
    value = _attribute(cell, name)
    return max(1, min(int(value), _MAX_SPAN)) if value.isdecimal() and len(value) < 7 else 1


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _words(node: LexborNode) -> str:
    """The text of a cell on one line, without what is hidden or dropped."""
    inner = Writer()
    _Walk(inner).run(node)
    inner.close()
    return " ".join("".join(inner.parts).split())
