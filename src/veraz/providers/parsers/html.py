"""HTML: what a reader of the page would read, as text with its headings, lists, tables and code.

`text` is the extracted text and offsets are into it. Navigation, page headers and footers, asides,
scripts, form controls and everything hidden are left out. The walk is a loop, not a recursion, so depth
costs nothing. Other formats that hold marked-up text are written by the same walk: see `write`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from veraz.nouns.corpus import ParsedDocument, RawItem, Span
from veraz.providers.parsers.cells import Shown, is_data, layout, read_table
from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.file import decoded, document
from veraz.providers.parsers.menus import repeated_menus
from veraz.providers.parsers.outline import Outline
from veraz.providers.parsers.shallow import shallow
from veraz.providers.parsers.unseen import declarations, unseen
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import storable
from veraz.text.scripts import subscript, superscript

VERSION = "html/4"

_DROPPED = frozenset({
    "script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
    "map", "head", "nav", "aside", "button", "select", "datalist", "textarea", "input", "dialog", "rp",
    "annotation", "annotation-xml",
})  # fmt: skip
_BLOCKS = frozenset({
    "address", "article", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "header", "hgroup", "html", "legend", "li", "main", "ol", "p", "search",
    "section", "summary", "ul", "caption",
})  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROW_PARTS = frozenset({"tr", "td", "th", "table"})
_RAISED = {"msup": (superscript,), "msub": (subscript,), "msubsup": (subscript, superscript)}
"""Of the parts of a formula after the first, how each stands."""
_SCRIPTS = {"sup": superscript, "sub": subscript}
_ALIGNED = {"super": superscript, "sub": subscript}
_JOIN = "\x02"
_NESTED = {"tr": f"{_JOIN}; ", "td": f"{_JOIN}, ", "th": f"{_JOIN}, "}
"""What parts the rows and cells of a table that stands in a cell of another."""
_LONGEST_SCRIPT = 200
_DEEPEST_INLINE = 8
_NO_NAME = re.compile(
    r"\S*\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)|image\s*\d*|img\s*\d*|picture\s*\d*|[\W_]*", re.I
)
_NUMBERED = re.compile(
    r"(?:table|tabla|tableau|tabelle|tabella|tabela|tabel|cuadro|quadro)\s*(?:\d|[IVX]+\b)", re.I
)
_LONGEST_CAPTION = 400
_INVISIBLE = str.maketrans("", "", "\u00ad\u2060\ufeff")
"""Marks of where a word may be broken, or not: no reader sees them, and no search finds a word with one inside."""


@dataclass(slots=True)
class Left:
    """What was not written, counted."""

    images: int = 0
    disguised: int = 0
    tables: int = 0
    menus: int = 0

    def back_to(self, before: Left) -> None:
        """Forgets what was counted since: it is read once more."""
        self.images, self.disguised, self.tables = before.images, before.disguised, before.tables
        self.menus = before.menus

    def warnings(self) -> tuple[str, ...]:
        said = (
            (self.images, "{} without a description left out", "image"),
            (self.disguised, "{} that no reader can see (by size, place or colour) left out", "passage"),
            (self.menus, "{} left out of the passages: an earlier one says the same", "menu"),
            (self.tables, "{} too large to lay out written as paragraphs", "table"),
        )
        return tuple(
            text.format(f"{count} {noun}" if count == 1 else f"{count} {noun}s")
            for count, text, noun in said
            if count
        )


class HtmlParser:
    """Title from `<title>` or the first heading, language from `<html lang>`, URL from the canonical link."""

    def parse(self, item: RawItem) -> ParsedDocument:
        found = decoded(item)
        tree = LexborHTMLParser(shallow(found.text))
        stated: Stated = {"lang": _language(tree), "url": _canonical(tree)}
        made = _outline(tree)
        return document(item, made, VERSION, title="", stated=stated, warnings=found.warnings)


def outline(text: str) -> Outline:
    """The outline of HTML source; its `text` is what was extracted, not the source."""
    return _outline(LexborHTMLParser(shallow(text)))


def write(source: str, out: Writer, left: Left, *, level: int = 0) -> None:
    """Writes a fragment of HTML, its own headings below those of `level`."""
    tree = LexborHTMLParser(shallow(source))
    if tree.body is not None:
        _Walk(out, left, layout(tree), plain=_is_plain(tree), level=level).run(tree.body)
    out.close()


def _outline(tree: LexborHTMLParser) -> Outline:
    writer, left = Writer(), Left()
    if tree.body is not None:
        _Walk(writer, left, layout(tree), repeated_menus(tree), plain=_is_plain(tree)).run(tree.body)
    writer.close()
    title = _page_title(tree) or next((h.title for h in writer.headings if h.level == 1), "")
    title = title or next((h.title for h in writer.headings), "")
    return writer.outline(title, left.warnings())


def _is_plain(tree: LexborHTMLParser) -> bool:
    """Nothing but the page itself colours it."""
    return tree.css_first("style, link[rel~=stylesheet], script") is None


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

    def __init__(
        self,
        writer: Writer,
        left: Left,
        layout: frozenset[int] = frozenset(),
        menus: frozenset[int] = frozenset(),
        *,
        plain: bool,
        level: int = 0,
        depth: int = 0,
    ) -> None:
        self.out, self.left, self.layout, self.plain, self.level = writer, left, layout, plain, level
        self.menus = menus  # that an earlier one says: their words are kept, and are in no block
        self.depth = depth  # of walks within walks; below the first, all is on one line
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
        tag = node.tag or ""
        if tag == "-text":
            self.out.words(_clean(node.text_content or ""))
            return False
        if not node.is_element_node or tag in _DROPPED or self._is_hidden(node):
            return False
        if tag in ("header", "footer") and not (
            _stands_in(node, ("article", "main")) or _heads_section(node)
        ):
            return False
        if node.mem_id in self.menus and not self.lists and not self.depth:
            self._menu(node)
            return False
        return self._enter_inline(node, tag) and self._enter_element(node, tag)

    def _menu(self, node: LexborNode) -> None:
        self.out.close()
        self.out.block("paragraph", self._inner(node))
        piece = self.out.pieces.pop()
        self.out.repeated.append((piece.start, piece.end))
        self.left.menus += 1
        self._paragraph()

    def _is_hidden(self, node: LexborNode, *, count: bool = True) -> bool:
        found = unseen(node, plain=self.plain)
        if found == "disguised" and count and (node.text() or "").strip():
            self.left.disguised += 1
        return bool(found)

    def _enter_inline(self, node: LexborNode, tag: str) -> bool:
        """Writes what runs with the text but is not its plain words. False: that is done."""
        if tag == "img":
            self._image(node)
        elif tag == "ruby" and self.depth < _DEEPEST_INLINE:
            self._ruby(node)
        elif tag == "math" and (stated := _attribute(node, "alttext") or _annotation(node)):
            self.out.words(f" {_clean(stated)} ")
        elif self.depth < _DEEPEST_INLINE and (write := _script(node, tag)) and _is_short(node):
            # its own outer space comes after: what is raised belongs to what it stands at
            self.out.words(write(self._inner(node)) + (" " if (node.text() or "")[-1:].isspace() else ""))
        elif self.depth < _DEEPEST_INLINE and tag in ("mfrac", "msqrt"):
            self._formula(node, tag)
        else:
            return True
        return False

    def _formula(self, node: LexborNode, tag: str) -> None:
        parts = [self._inner(part) for part in _children(node) if part.is_element_node]
        if tag == "msqrt":
            self.out.words("√" + _grouped("".join(parts)))
        else:
            self.out.words("/".join(map(_grouped, parts)))

    def _image(self, node: LexborNode) -> None:
        """Its description in brackets, as it is read aloud. alt="" says that it is decoration."""
        attributes = node.attributes
        words = " ".join(_clean(attributes.get("alt") or "").split())
        if not _NO_NAME.fullmatch(words):
            if self.out.start < 0:
                self.out.level = 0  # a heading of an image alone names no section
            self.out.words(f"[{words}]")
        elif not ("alt" in attributes and not attributes["alt"]) and not _is_dot(node):
            self.left.images += 1

    def _ruby(self, node: LexborNode) -> None:
        """The text as one, then how it is read: 東京(とうきょう)."""
        base, above = Writer(), Writer()
        for part in _children(node):
            self._within(above if part.tag in ("rt", "rtc") else base).run(part)
        read = "".join(above.parts).replace(" ", "").replace("\n", "")
        self.out.words("".join(base.parts).replace("\n", "") + (f"({read})" if read else ""))

    def _enter_element(self, node: LexborNode, tag: str) -> bool:
        if tag == "br":
            self.out.line(self._indent())
        elif tag == "hr":
            self._paragraph()
        elif tag == "pre":
            self._code(node)
            return False
        elif tag == "table" and not self.depth and node.mem_id not in self.layout and is_data(node):
            return not self._table(node)
        elif tag in _HEADINGS and not self.lists:
            self.out.open("paragraph", min(self.level + _HEADINGS[tag], 9))
        elif tag in ("ul", "ol", "dl"):
            self._open_list(node, tag)
        elif tag in ("li", "dt", "dd") and self.lists:
            self.out.line(self.lists[-1].lead(tag, len(self.lists)))
        elif tag == "blockquote":
            self.quotes += 1
            self._paragraph()
        elif tag in _BLOCKS or tag in _HEADINGS or tag in _ROW_PARTS:
            self._paragraph()
            if self.depth and tag in _NESTED and _place(node):
                self.out.words(_NESTED[tag])
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if self.lists and self.lists[-1].node == node.mem_id:
            self.lists.pop()
            if not self.lists:
                self.out.close()
        elif tag == "blockquote" and self.quotes and not self._is_hidden(node, count=False):
            self._paragraph()
            self.quotes -= 1
            self._paragraph()
        elif tag in _HEADINGS or tag in _BLOCKS or tag in _ROW_PARTS:
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
        code = self._as_typed(node).strip("\r\n").rstrip()
        if not code.strip():
            return
        if self.lists:
            self.out.line(self._indent())
        else:
            self.out.open("code")
        self.out.raw(code)
        self._paragraph()

    def _as_typed(self, root: LexborNode) -> str:
        """The text of a `pre` with its white space, without what is hidden in it."""
        parts: list[str] = []
        todo = list(_children(root))[::-1]
        while todo:
            node = todo.pop()
            if node.tag == "-text":
                parts.append(_clean(node.text_content or ""))
            elif node.tag == "br":
                parts.append("\n")
            elif node.is_element_node and node.tag not in _DROPPED and not self._is_hidden(node):
                if (write := _script(node, node.tag or "")) and _is_short(node):
                    parts.append(write(self._inner(node)))
                else:
                    todo += list(_children(node))[::-1]
        return "".join(parts)

    def _table(self, node: LexborNode) -> bool:
        """Whether it was written as one. False: it has a single column, and is read as what stands in it."""
        before = replace(self.left)
        try:
            grid, caption = read_table(node, Shown(self._inner, self._is_hidden))
        except ValueError:
            self.left.tables += 1
            self.out.block("paragraph", self._inner(node))
            return True
        if grid.width == 1:
            self.left.back_to(before)
            return False
        above = None if caption else self._caption_above()
        self.out.table(grid, caption)
        if above is not None and self.out.pieces[-1].kind == "table":
            self.out.pieces[-1] = replace(self.out.pieces[-1], caption=above)
        return True

    def _caption_above(self) -> Span | None:
        """The paragraph right above, where it numbers the table."""
        self.out.close()
        last = self.out.pieces[-1] if self.out.pieces else None
        if last is None or last.kind != "paragraph" or last.end != self.out.size:
            return None
        text = self.out.since(last.start)
        return Span(last.start, last.end) if len(text) <= _LONGEST_CAPTION and _NUMBERED.match(text) else None

    def _within(self, out: Writer) -> _Walk:
        """A walk that writes a part of this one's text on one line."""
        return _Walk(out, self.left, plain=self.plain, depth=self.depth + 1)

    def _inner(self, node: LexborNode) -> str:
        """The text of an element on one line, without what is hidden or dropped."""
        inner = Writer()
        walk = self._within(inner)
        for child in _children(node):
            walk.run(child)
        inner.close()
        return " ".join("".join(inner.parts).split()).replace(f" {_JOIN}", "")


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


def _stands_in(node: LexborNode, tags: tuple[str, ...]) -> bool:
    """Looks up a bounded way. The header of an article holds its title; that of the page holds a logo and a menu."""
    above = node.parent
    for _ in range(50):
        if above is None:
            return False
        if above.tag in tags:
            return True
        above = above.parent
    return False


def _heads_section(node: LexborNode) -> bool:
    """Whether it holds the heading of a section of the page; pages are laid out in sections too, around their logo and menu."""
    return (
        node.tag == "header"
        and _stands_in(node, ("section",))
        and node.css_first("h1,h2,h3,h4,h5,h6") is not None
        and node.css_first("nav") is None
    )


def _clean(text: str) -> str:
    return storable(text)[0].translate(_INVISIBLE)


def _script(node: LexborNode, tag: str) -> Callable[[str], str] | None:
    """How an element is written that stands raised or lowered."""
    if tag in _SCRIPTS:
        return _SCRIPTS[tag]
    above = node.parent.tag if node.parent is not None else ""
    if above in _RAISED and 0 < (place := _place(node)) <= len(_RAISED[above]):
        return _RAISED[above][place - 1]
    if tag == "span" and (style := node.attributes.get("style")) and "vertical-align" in style:
        return _ALIGNED.get(declarations(style)["vertical-align"])
    return None


def _is_short(node: LexborNode) -> bool:
    return len(node.text() or "") <= _LONGEST_SCRIPT


def _grouped(text: str) -> str:
    return text if text.isalnum() or len(text) == 1 else f"({text})"


def _place(node: LexborNode) -> int:
    """How many elements stand before it under the same parent; counts to 3."""
    place, before = 0, node.prev
    while before is not None and place < 3:
        place += before.is_element_node
        before = before.prev
    return place


def _annotation(node: LexborNode) -> str:
    """The TeX that a formula was made from."""
    found = node.css_first("annotation[encoding*=tex]")
    return (found.text() or "").strip() if found is not None else ""


def _is_dot(node: LexborNode) -> bool:
    """An image that only counts readers, or keeps a distance."""
    return any(_attribute(node, side) in ("0", "1", "0px", "1px") for side in ("width", "height"))


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next
