"""The running text of a Word paragraph: its runs, fields, symbols, equations and notes, as a reader of the page sees them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lxml import etree

from veraz.providers.parsers.equation import M, linear
from veraz.providers.parsers.symbols import is_symbol_font, symbols
from veraz.providers.parsers.word_styles import VAL, Styles, W, is_monospace, on, value
from veraz.text.scripts import Script, joined

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_IMAGE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_OLD_IMAGE = "{urn:schemas-microsoft-com:vml}imagedata"
_RUN = f"{W}rPr"
_BOX = f"{W}txbxContent"
_INSIDE = frozenset(
    f"{W}{name}"
    for name in ("hyperlink", "ins", "moveTo", "smartTag", "fldSimple", "customXml", "dir", "bdo", "rt")
)
_SIGNS = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "\u2011",
    f"{W}softHyphen": "",
}
_NOTES = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}


@dataclass(frozen=True, slots=True)
class NoteMark:
    kind: str
    id: str
    label: str


@dataclass(slots=True)
class Line:
    """What one paragraph holds. `bold` and `code` count the characters set so; `boxes` are text boxes anchored in it."""

    parts: list[tuple[str, Script]] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    notes: list[NoteMark] = field(default_factory=list)
    size: int = 0
    bold: int = 0
    code: int = 0

    @property
    def text(self) -> str:
        """White space folded, line breaks kept."""
        return "\n".join(filter(None, (" ".join(line.split()) for line in self.verbatim.split("\n"))))

    @property
    def verbatim(self) -> str:
        return joined(self.parts)

    @property
    def is_bold(self) -> bool:
        return 0 < self.size == self.bold

    @property
    def is_code(self) -> bool:
        return 0 < self.size == self.code


class Runs:
    """Reads the paragraphs of one document; counts in `lost` what is left out."""

    def __init__(self, styles: Styles, lost: Counter[str]) -> None:
        self.styles, self.lost = styles, lost
        self.noted = 0

    def line(self, paragraph: etree._Element) -> Line:
        found = Line()
        self._inside(paragraph, found, value(paragraph, "pPr/pStyle") or self.styles.default)
        return found

    def _inside(self, node: etree._Element, line: Line, style: str) -> None:
        for child in node:
            tag = child.tag
            if tag == f"{W}r":
                self._run(child, line, style)
            elif tag in _INSIDE:
                self._inside(child, line, style)
            elif tag == f"{W}sdt":
                self._control(child, line, style)
            elif tag in (f"{M}oMath", f"{M}oMathPara"):
                self._equation(child, line)
            elif tag in (f"{W}del", f"{W}moveFrom"):
                self.lost["deletions"] += next(child.iter(f"{W}delText", f"{W}t"), None) is not None
            elif tag == f"{_MC}AlternateContent":
                self._inside(_choice(child), line, style)

    def _control(self, node: etree._Element, line: Line, style: str) -> None:
        # What stands in a form field before anybody filled it in is no content.
        content = node.find(f"{W}sdtContent")
        if content is not None and not on(node.find(f"{W}sdtPr/{W}showingPlcHdr")):
            self._inside(content, line, style)

    def _equation(self, node: etree._Element, line: Line) -> None:
        apart = node.tag == f"{M}oMathPara"
        text = linear(node).strip()
        self._add(line, f"\n{text}\n" if apart else text, "")

    # Runs

    def _run(self, run: etree._Element, line: Line, style: str) -> None:
        if self._hidden(run, style):
            self.lost["hidden"] += next(run.iter(f"{W}t"), None) is not None
            return
        before = line.size
        script, font = self._script(run), self._font(run)
        for child in run:
            self._content(child, line, script, font)
        if line.size > before:
            line.bold += (line.size - before) * self._is_bold(run, style)
            line.code += (line.size - before) * self._is_code(run)

    def _content(self, node: etree._Element, line: Line, script: Script, font: str) -> None:
        tag = node.tag
        if tag == f"{W}t":
            self._add(line, symbols(node.text or "", font), script)
        elif tag in _SIGNS:
            self._add(line, _SIGNS[tag], "")
        elif tag == f"{W}br":
            self._add(line, " " if node.get(f"{W}type") in ("page", "column") else "\n", "")
        elif tag == f"{W}sym":
            self._symbol(node, line, script)
        elif tag in _NOTES:
            self._note(node, line)
        elif tag == f"{W}ruby":
            base = node.find(f"{W}rubyBase")
            self._inside(base if base is not None else node, line, self.styles.default)
        elif tag == f"{_MC}AlternateContent":
            for child in _choice(node):
                self._content(child, line, script, font)
        elif tag in (f"{W}drawing", f"{W}pict", f"{W}object"):
            self._drawing(node, line)

    def _add(self, line: Line, text: str, script: Script) -> None:
        line.parts.append((text, script))
        line.size += len("".join(text.split()))

    def _symbol(self, node: etree._Element, line: Line, script: Script) -> None:
        try:
            char = chr(int(node.get(f"{W}char", ""), 16))
        except (ValueError, OverflowError):
            return
        font = node.get(f"{W}font", "")
        shown = (
            symbols(char, font)
            if is_symbol_font(font)
            else "\ufffd"
            if "\ue000" <= char <= "\uf8ff"
            else char
        )
        self.lost["symbols"] += shown == "\ufffd"
        self._add(line, shown, script)

    def _note(self, node: etree._Element, line: Line) -> None:
        """Notes are numbered through the document, whatever their own numbers: their text stands below what they explain."""
        self.noted += 1
        own = node.get(f"{W}customMarkFollows", "0") not in ("0", "false", "off")
        label = "" if own else f"[{self.noted}]"
        line.notes.append(NoteMark(_NOTES[str(node.tag)], node.get(f"{W}id", ""), label))
        line.parts.append((label, ""))

    def _drawing(self, node: etree._Element, line: Line) -> None:
        boxes = [box for box in node.iter(_BOX) if not _within(box, node)]
        line.boxes += boxes
        self.lost["charts"] += next(node.iter(_CHART), None) is not None
        self.lost["diagrams"] += next(node.iter(_DIAGRAM), None) is not None
        if node.tag == f"{W}object":
            self.lost["objects"] += 1
        elif next(node.iter(_IMAGE, _OLD_IMAGE), None) is not None:
            self._image(node, line)

    def _image(self, node: etree._Element, line: Line) -> None:
        drawn = next(node.iter(_DRAWN), None)
        described = " ".join((drawn.get("descr") or "").split()) if drawn is not None else ""
        self.lost["images"] += not described
        if described:
            self._add(line, f"[Image: {described}]", "")

    # Properties

    def _property(self, run: etree._Element, name: str, style: str = "") -> etree._Element | None:
        """The run's own, else its character style's, else the paragraph style's."""
        properties = run.find(_RUN)
        if properties is not None:
            own = properties.find(f"{W}{name}")
            if own is None:
                own = self.styles.find(value(properties, "rStyle"), f"rPr/{name}")
            if own is not None:
                return own
        return self.styles.find(style, f"rPr/{name}") if style else None

    def _hidden(self, run: etree._Element, style: str) -> bool:
        return on(self._property(run, "vanish", style))

    def _is_bold(self, run: etree._Element, style: str) -> bool:
        return on(self._property(run, "b", style))

    def _is_code(self, run: etree._Element) -> bool:
        return is_monospace(self._property(run, "rFonts"))

    def _font(self, run: etree._Element) -> str:
        fonts = run.find(f"{W}rPr/{W}rFonts")
        return (fonts.get(f"{W}ascii") or "") if fonts is not None else ""

    def _script(self, run: etree._Element) -> Script:
        node = self._property(run, "vertAlign")
        align = node.get(VAL, "") if node is not None else ""
        return "super" if align == "superscript" else "sub" if align == "subscript" else ""


def _choice(node: etree._Element) -> etree._Element:
    """What a current reader shows of alternatives: the first."""
    found = node.find(f"{_MC}Choice")
    if found is None:
        found = node.find(f"{_MC}Fallback")
    return found if found is not None else node


def _within(box: etree._Element, top: etree._Element) -> bool:
    """Whether a text box stands in another one, or is the older copy of one, for older readers."""
    for above in box.iterancestors():
        if above is top:
            return False
        if above.tag == _BOX or (above.tag == f"{_MC}Fallback" and above.getparent() is not None):
            return True
    return False
