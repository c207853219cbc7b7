"""Markdown: CommonMark with GFM tables, and optional front matter.

`text` is the decoded source after the front matter block, so that offsets are places in what a reader of
the source sees. Headings inside fences, lists and quotations are content, not structure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from veraz.errors import ItemError
from veraz.nouns.corpus import BlockKind, ParsedDocument, RawItem
from veraz.providers.parsers.captions import captioned
from veraz.providers.parsers.fields import read_fields, read_title
from veraz.providers.parsers.file import decoded, document, located
from veraz.providers.parsers.outline import Heading, Outline, Piece
from veraz.text.lines import lines, trim

VERSION = "markdown/2"

_FRONT = re.compile(r"---[ \t]*(?:\r\n|\n|\r)(.*?)(?:\r\n|\n|\r)?^---[ \t]*(?:\r\n|\n|\r|\Z)", re.S | re.M)
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(?:[ \t]+(.*))?")
_LINE_END = re.compile(r"\r\n|\n|\r")
_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "paragraph",
}


class MarkdownParser:
    """Front matter may state title, url, lang, date, revised_at, published_at, valid_from, valid_to, license,
    jurisdiction, supersedes, acl, document_type; other keys are kept under `meta`."""

    def parse(self, item: RawItem) -> ParsedDocument:
        found = decoded(item)
        try:
            fields, body = front_matter(found.text)
            title = read_title(fields.pop("title", None))
            stated, notes = read_fields(fields)
        except ItemError as error:
            raise located(error, item) from None
        warnings = (*found.warnings, *notes)
        return document(item, outline(body), VERSION, title=title, stated=stated, warnings=warnings)


# Front matter


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The keys stated between `---` lines at the very start, and the text after them.

    One `key: value` a line; a value may be quoted, or a list in brackets (but for a title, which is text:
    `[Draft] Doses`), or a list of `- item` lines below its key; lines that begin with # are comments. A block that
    does not begin with a key is ordinary text (a thematic break). Raises ItemError for a block with a line of any
    other form.
    """
    block = _FRONT.match(text)
    if not block or not _KEY.match(block[1].lstrip()):
        return {}, text
    fields: dict[str, Any] = {}
    key = ""
    for number, line in enumerate(_LINE_END.split(block[1]), 2):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("- ") and key and (fields[key] is None or isinstance(fields[key], list)):
            fields[key] = [*(fields[key] or []), _value(stripped[2:])]
        elif (pair := _KEY.fullmatch(line.rstrip())) and pair[1] not in fields:
            key = pair[1]
            written = (pair[2] or "").strip()
            fields[key] = (_unquoted(written) or None) if key == "title" else _value(written)
        else:
            raise _bad_line(number, stripped, repeated=bool(pair))
    return fields, text[block.end() :]


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _value(written: str) -> Any:
    value = written.strip()
    if (inner := _unquoted(value)) != value:
        return inner
    if value.startswith("[") and value.endswith("]"):
        return [_value(part) for part in value[1:-1].split(",") if part.strip()]
    return value or None


def _bad_line(number: int, line: str, *, repeated: bool) -> ItemError:
    reason = "repeats a key" if repeated else "is not `key: value`"
    return ItemError(
        f"front matter line {number} {reason}: {line[:60]!r}",
        stage="parse",
        fix="write one `key: value` a line between the --- lines; lists as [a, b]",
    )


# Structure


@cache
def _parser() -> MarkdownIt:
    # Blocks only: emphasis and links stay as written, so their pass (the costly one) is left out.
    return MarkdownIt("commonmark", {"maxNesting": 60}).enable("table").disable(["inline", "text_join"])


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 60})


def outline(text: str) -> Outline:
    """The outline of Markdown source; offsets are into `text` as given, whatever its line ends."""
    starts, source = _normalised(text)
    tokens = _parser().parse(source)
    headings: list[Heading] = []
    pieces: list[Piece] = []
    rulers: list[tuple[int, int]] = []
    for n, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        start, end = trim(text, starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)])
        if token.type == "heading_open":
            headings.append(Heading(start, end, int(token.tag[1]), _plain(tokens[n + 1])))
        elif token.type == "hr" or _is_comment(token):
            rulers.append((start, end))
        elif kind := _KINDS.get(token.type):
            pieces += _piece(text, kind, starts[token.map[0]], start, end)
    pieces = captioned(text, _with_upper_header_rows(text, pieces))
    return Outline(text, headings, pieces, rulers, title=_title(headings))


def _is_comment(token: Token) -> bool:
    content = token.content.strip()
    return (
        token.type == "html_block" and content.startswith("<!--") and content.find("-->") == len(content) - 3
    )


def _normalised(text: str) -> tuple[list[int], str]:
    """Offsets of the lines as the Markdown parser counts them, and the text as it sees them."""
    ends = [found.end() for found in _LINE_END.finditer(text)]
    starts = [0, *ends]
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts, _LINE_END.sub("\n", text)


def _plain(inline: Token) -> str:
    """A heading's words without emphasis, code ticks and link targets."""
    [parsed] = _inline().parseInline(inline.content)
    words = [
        child.content
        if child.type in ("text", "code_inline")
        else " "
        if child.type.endswith("break")
        else ""
        for child in parsed.children or ()
    ]
    return " ".join("".join(words).split())


def _piece(text: str, kind: BlockKind, line_start: int, start: int, end: int) -> list[Piece]:
    if kind == "code" and not text.startswith(("```", "~~~"), start):
        return [Piece(kind, line_start, end)]  # indented code: its first line's indentation belongs to it
    return [Piece(kind, start, end)] if end > start else []


def _with_upper_header_rows(text: str, pieces: list[Piece]) -> list[Piece]:
    """GFM knows one header row; rows of bars right above it were read as a paragraph and belong to the
    table."""
    joined: list[Piece] = []
    for piece in pieces:
        above = joined[-1] if joined else None
        if piece.kind == "table" and above and above.kind == "paragraph":
            at = _first_row(text, above, piece)
            if at == above.start:
                joined.pop()
            elif at < piece.start:
                joined[-1] = Piece("paragraph", *trim(text, above.start, at))
            piece = Piece("table", at, piece.end)
        joined.append(piece)
    return joined


def _first_row(text: str, above: Piece, table: Piece) -> int:
    """Where the unbroken rows of bars that end at the table begin; the table's own start when there are
    none."""
    at = table.start
    if len(_LINE_END.findall(text[above.end : table.start])) != 1:
        return at
    for line in reversed(list(lines(text, above.start, above.end))):
        if not text[line.start : line.end].lstrip().startswith("|"):
            break
        at = line.start
    return at


def _title(headings: Sequence[Heading]) -> str:
    """The first heading of level 1, else the first heading."""
    first = next((heading for heading in headings if heading.level == 1), None) or next(iter(headings), None)
    return first.title if first else ""
