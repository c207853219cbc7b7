"""The styles and the numbering of a Word document: what a paragraph is, as its styles say, and how it is numbered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
VAL = f"{W}val"

# Word names its own styles in English in the file, whatever the reader's language; other programs translate them.
_HEADING = re.compile(
    r"(?:heading|überschrift|ueberschrift|berschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nagwek|"
    r"nadpis|заголовок|επικεφαλίδα|başlık|címsor|titlu|見出し|标题|제목)\s*([1-9])\b",
    re.I,
)
_TITLE = re.compile(
    r"(?:title|titel|titre|título|titulo|titolo|τίτλος|название|tytuł|cím|表題|标题|제목)", re.I
)
_CODE = re.compile(r"\b(?:code|source|preformatted|verbatim|macro ?text|html ?pre)", re.I)
_QUOTE = re.compile(r"\b(?:quote|quotation|quotations|zitat|citation|cita|citazione|citaat)\b", re.I)
_CAPTION = re.compile(
    r"\b(?:caption|beschriftung|légende|epígrafe|leyenda|didascalia|bijschrift|legenda)\b", re.I
)
_CONTENTS = re.compile(
    r"(?:toc|verzeichnis|table of figures|inhaltsverzeichnis|tdc|tdm|sommario)\s*\d?", re.I
)
_WHOLE = {"title": _TITLE, "contents": _CONTENTS}
_PART = {"code": _CODE, "quote": _QUOTE, "caption": _CAPTION}
_MONOSPACE = re.compile(
    r"courier|consolas|mono\b|monospace|menlo|lucida console|source code|inconsolata|fixedsys", re.I
)
_DEPTH = 20


def on(node: etree._Element | None) -> bool:
    """Whether a switch such as `<w:b/>` is present and not turned off."""
    return node is not None and node.get(VAL, "1") not in ("0", "false", "off", "none")


@cache
def _full(path: str) -> str:
    return "/".join(f"{W}{name}" for name in path.split("/"))


def value(parent: etree._Element | None, path: str) -> str | None:
    """The `w:val` of the child at `path`, in names without prefix."""
    node = parent.find(_full(path)) if parent is not None else None
    return node.get(VAL) if node is not None else None


def whole(text: str | None, default: int = 0) -> int:
    """A number as attributes write it; `default` for what is none."""
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else default


class Styles:
    """Styles by id, each looked up along the styles that it is based on."""

    def __init__(self, root: etree._Element | None) -> None:
        nodes = root.iterfind(f"{W}style") if root is not None else iter(())
        self._by_id: dict[str, etree._Element] = {}
        self._found: dict[tuple[str, str], etree._Element | None] = {}
        self._kinds: dict[str, frozenset[str]] = {}
        self._levels: dict[str, int] = {}
        self.default = ""
        for node in nodes:
            self._by_id[node.get(f"{W}styleId", "")] = node
            if node.get(f"{W}type") == "paragraph" and node.get(f"{W}default") in ("1", "true"):
                self.default = node.get(f"{W}styleId", "")

    def chain(self, style: str | None) -> Iterator[etree._Element]:
        for _ in range(_DEPTH):
            node = self._by_id.get(style or "")
            if node is None:
                return
            yield node
            style = value(node, "basedOn")

    def name(self, style: str | None) -> str:
        return next((value(node, "name") or "" for node in self.chain(style)), style or "")

    def find(self, style: str | None, path: str) -> etree._Element | None:
        """The nearest definition of a property, such as "rPr/vanish"."""
        if not style:
            return None
        if (style, path) not in self._found:
            nodes = (node.find(_full(path)) for node in self.chain(style))
            self._found[style, path] = next((node for node in nodes if node is not None), None)
        return self._found[style, path]

    def heading_level(self, style: str) -> int:
        """1 to 9; 0: no heading."""
        if style not in self._levels:
            self._levels[style] = self._level(style)
        return self._levels[style]

    def _level(self, style: str) -> int:
        for node in self.chain(style):
            for name in (value(node, "name") or "", node.get(f"{W}styleId", "")):
                if found := _HEADING.match(name):
                    return int(found[1])
            if (outline := value(node, "pPr/outlineLvl")) is not None:
                return level if 1 <= (level := whole(outline, 9) + 1) <= 9 else 0
        undefined = _HEADING.match(style) if style not in self._by_id else None
        return int(undefined[1]) if undefined else 0

    def kinds(self, style: str) -> frozenset[str]:
        """What paragraphs of a style are, of "title", "contents", "code", "quote" and "caption"."""
        if style not in self._kinds:
            own = self.name(style).strip()
            names = [value(node, "name") or "" for node in self.chain(style)]
            found = {kind for kind, pattern in _WHOLE.items() if pattern.fullmatch(own)}
            found |= {kind for kind, pattern in _PART.items() if any(map(pattern.search, names))}
            self._kinds[style] = frozenset(found)
        return self._kinds[style]

    def first_row(self, style: str | None) -> bool:
        """Whether a table style sets its first row apart."""
        for node in self.chain(style):
            for part in node.iterfind(f"{W}tblStylePr[@{W}type='firstRow']"):
                return on(part.find(f"{W}rPr/{W}b")) or part.find(f"{W}tcPr/{W}shd") is not None
        return False


def is_monospace(fonts: etree._Element | None) -> bool:
    return fonts is not None and bool(
        _MONOSPACE.search(fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") or "")
    )


# Numbering

_ROMAN = [(1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")]  # fmt: skip


@dataclass(slots=True)
class _Level:
    start: int = 1
    form: str = "decimal"
    text: str = ""
    restart: int | None = None  # the level whose step restarts this one; None: the one above
    legal: bool = False
    style: str = ""


@dataclass(slots=True)
class _List:
    """Counters are shared by all numberings of one abstract definition: that is how a list is resumed."""

    levels: dict[int, _Level]
    counts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """Numbers paragraphs in reading order, as Word shows them."""

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[str, _List] = {}
        self._abstract: dict[str, str] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._linked: dict[str, tuple[str, int]] = {}
        if root is not None:
            self._read(root)

    def _read(self, root: etree._Element) -> None:
        styles: dict[str, str] = {}
        links: dict[str, str] = {}
        for node in root.iterfind(f"{W}abstractNum"):
            key = node.get(f"{W}abstractNumId", "")
            self._lists[key] = _List(dict(_levels(node)))
            styles[value(node, "styleLink") or ""] = key
            links[key] = value(node, "numStyleLink") or ""
        for key, link in links.items():
            if link and link in styles:
                self._lists[key] = self._lists[styles[link]]
        for node in root.iterfind(f"{W}num"):
            self._read_number(node)

    def _read_number(self, node: etree._Element) -> None:
        key, abstract = node.get(f"{W}numId", ""), value(node, "abstractNumId") or ""
        self._abstract[key] = abstract
        overrides = node.findall(f"{W}lvlOverride")
        self._starts[key] = {
            whole(o.get(f"{W}ilvl")): whole(value(o, "startOverride"), 1)
            for o in overrides
            if o.find(f"{W}startOverride") is not None
        }
        own = dict(pair for o in overrides for pair in _levels(o))
        if abstract in self._lists and own:
            shared = self._lists[abstract]
            self._abstract[key] = f"{abstract}/{key}"
            self._lists[f"{abstract}/{key}"] = _List({**shared.levels, **own}, shared.counts)
        for level, definition in (self._lists[abstract].levels if abstract in self._lists else {}).items():
            if definition.style:
                self._linked.setdefault(definition.style, (key, level))

    def level_of_style(self, number: str, style: str) -> int:
        """The level of a numbering that a style is bound to."""
        linked = self._linked.get(style)
        return linked[1] if linked and self._abstract.get(linked[0]) == self._abstract.get(number) else 0

    def label(self, number: str, level: int) -> str | None:
        """What stands before the next paragraph of this list: "2.1", "-" for a bullet, "" for nothing; None for no list."""
        found = self._lists.get(self._abstract.get(number, ""))
        if found is None or level not in found.levels:
            return None
        start = self._starts.get(number, {}).pop(level, None)
        self._step(found, level, start)
        definition = found.levels[level]
        if definition.form == "bullet":
            return "-"
        if definition.form == "none":
            return ""
        return re.sub(
            r"%([1-9])", lambda m: self._figure(found, int(m[1]) - 1, definition.legal), definition.text
        )

    def _step(self, found: _List, level: int, start: int | None) -> None:
        definition = found.levels[level]
        found.counts[level] = (
            start if start is not None else found.counts.get(level, definition.start - 1) + 1
        )
        for deeper in [n for n in found.counts if n > level]:
            restart = found.levels[deeper].restart if deeper in found.levels else None
            if restart is None or (restart > 0 and level < restart):
                del found.counts[deeper]

    def _figure(self, found: _List, level: int, legal: bool) -> str:
        definition = found.levels.get(level, _Level())
        count = found.counts.setdefault(level, definition.start)
        return figure(count, "decimal" if legal else definition.form)


def _levels(parent: etree._Element) -> Iterator[tuple[int, _Level]]:
    for node in parent.iterfind(f"{W}lvl"):
        restart = value(node, "lvlRestart")
        yield (
            whole(node.get(f"{W}ilvl")),
            _Level(
                whole(value(node, "start"), 1),
                value(node, "numFmt") or "decimal",
                value(node, "lvlText") or "",
                None if restart is None else whole(restart),
                on(node.find(f"{W}isLgl")),
                value(node, "pStyle") or "",
            ),
        )


def figure(count: int, form: str) -> str:
    """A number in one of the forms that documents use; what is unknown is written in figures."""
    if form in ("lowerLetter", "upperLetter") and count > 0:
        letter = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 20)
        return letter.upper() if form == "upperLetter" else letter
    if form in ("lowerRoman", "upperRoman") and 0 < count < 4000:
        roman = _roman(count)
        return roman.upper() if form == "upperRoman" else roman
    return f"{count:02d}" if form == "decimalZero" else str(count)


def _roman(count: int) -> str:
    parts: list[str] = []
    for worth, sign in _ROMAN:
        times, count = divmod(count, worth)
        parts.append(sign * times)
    return "".join(parts)
