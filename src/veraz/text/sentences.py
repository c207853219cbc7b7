"""Sentences with their places in the text, by rules.

Written for answers that quote: a boundary that is missed joins two sentences, which a reader survives; a
false one parts a number, an abbreviation or a name from what it belongs to ("0." and "5 mg"), which may
not. So where the evidence is weak there is no boundary.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence

from veraz.nouns.corpus import Span
from veraz.text.abbreviations import BEFORE_NUMBER, MAY_END, NEVER_END, STARTERS
from veraz.text.lines import EOL, deliberate_break, is_ruler, item_marker, line_parts, lines, wrap_width

_CLOSERS = "\"'”’»)\\]*_"
_STOP = re.compile(
    rf"(?:\.{{1,3}}|[!?…]+)[!?…]*[{_CLOSERS}]{{0,4}}(?=\s|$)"  # a stop, then space
    r"|[。！？｡]+[」』”’）】]{0,3}"  # CJK stops need no space
    r"|(?<=[^\W\d_][a-zà-ÿ]{2})[.?!](?=[A-ZÀ-Þ][a-zà-ÿ]{2})"  # "the rash.Treatment": the space was lost
)
_BLANK_LINE = re.compile(rf"{EOL}[ \t\xa0]*{EOL}\s*")
_BEFORE = re.compile(r"[^\s]{1,40}$")
_DOTTED = re.compile(r"(?:[^\W\d_]\.){2,}")
_URL = re.compile(r"://|^www$|@|/", re.I)
_INITIAL_NEXT = re.compile(r"\s+[^\W\d_]\.")
_NUMBER = re.compile(r"\(?\d{1,3}(?:\.\d{1,3})*")
_ENUMERATOR = re.compile(r"[\s\-–*•·(]*$")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_OPENERS = "\"'“‘«„([¿¡*_"


def sentence_spans(text: str, lang: str) -> list[Span]:
    """Sentences of `text` in order: trimmed, not overlapping, together holding every character that is
    not white space.

    `lang` is an ISO 639-1 code; it chooses abbreviations and the words that begin sentences (unknown:
    those of English). A blank line, a list item and a line that its author ended early are boundaries
    too; a line that goes on in the next one (after a comma, in a code span or a bracket, below the text of its
    item) is none. Linear in the length of the text.
    """
    rows = list(lines(text))
    rules = _Rules(text, lang, rows)
    cuts = sorted({*_layout_cuts(text, rows), *(m.end() for m in _STOP.finditer(text) if rules.ends(m))})
    spans: list[Span] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        part = text[start:end]
        if solid := part.strip():
            left = start + len(part) - len(part.lstrip())
            spans.append(Span(left, left + len(solid)))
    return spans


def without_marker(text: str, span: Span) -> Span:
    """The span without the bullet or number of a list item, for quoting an item as a sentence."""
    at = item_marker(text, span)
    return Span(at, span.end) if 0 <= at < span.end else span


def _layout_cuts(text: str, rows: Sequence[Span]) -> list[int]:
    cuts = [m.end() for m in _BLANK_LINE.finditer(text)]
    cuts += [part.start for line in rows for part in line_parts(text, line)[1:]]
    width = wrap_width(rows)
    alone = [_stands_alone(text, line) for line in rows] if len(rows) > 1 else []
    hang = 0  # where the text of the open item begins in its line; 0 outside items
    for n, (line, following) in enumerate(itertools.pairwise(rows)):
        if (begins := item_marker(text, line)) >= 0:
            hang = begins - line.start
        elif _margin(text, line) != hang:
            hang = 0
        hangs = hang > 0 and _margin(text, following) == hang and item_marker(text, following) < 0
        if alone[n] or alone[n + 1] or (not hangs and _breaks(text, line, following, width)):
            cuts.append(following.start)
    return cuts


def _margin(text: str, line: Span) -> int:
    part = text[line.start : line.end]
    return len(part) - len(part.lstrip())


def _stands_alone(text: str, line: Span) -> bool:
    """A table row, a Markdown heading, a ruler, a fence."""
    lead = text[line.start : line.end].lstrip()[:3]
    return lead[:1] in ("|", "#") or lead in ("```", "~~~") or is_ruler(text, line)


def _breaks(text: str, line: Span, following: Span, width: int) -> bool:
    """Whether the line break is a boundary: an item follows, or the line ends early and the sentence does not
    visibly go on."""
    if item_marker(text, following) >= 0:
        return True
    goes_on = text[line.start : line.end].rstrip().endswith(",")
    opens = text[following.start : following.end].lstrip().startswith(("`", "("))
    return not goes_on and not opens and deliberate_break(text, line, following, width)


class _Rules:
    """Decides whether a stop ends a sentence."""

    def __init__(self, text: str, lang: str, rows: Sequence[Span]) -> None:
        self.text = text
        self.lang = lang
        self.never = NEVER_END["*"] | NEVER_END.get(lang, frozenset())
        self.starters = STARTERS.get(lang, STARTERS["en"])
        sample = text[:20_000]
        letters = sum(map(str.isalpha, sample))
        # Some collections are in lower case throughout; there a small letter begins sentences too.
        self.caseless = letters > 80 and sum(map(str.isupper, sample)) * 200 < letters
        self.line_starts = [line.start for line in rows]

    def ends(self, stop: re.Match[str]) -> bool:
        sign = stop.group()
        if sign[0] in "。！？｡":
            return True
        first, word = self._next(stop.end())
        if not first:
            return True
        if first.islower() and not self.caseless:
            return False
        if not sign.startswith(".") or sign.startswith(".."):
            return True
        return self._dot_ends(stop, first, word)

    def _next(self, at: int) -> tuple[str, str]:
        """The first character that counts after the stop, and the word there ("" when it is no word)."""
        text, end = self.text, len(self.text)
        while at < end and (text[at].isspace() or text[at] in _OPENERS):
            at += 1
        found = _WORD.match(text, at, at + 40)
        return text[at : at + 1], found.group() if found else ""

    def _dot_ends(self, stop: re.Match[str], first: str, word: str) -> bool:
        at = stop.start()
        line_start = self.line_starts[max(0, bisect_right(self.line_starts, at) - 1)]
        before = _BEFORE.search(self.text[max(line_start, at - 40) : at])
        if not before:
            return True  # "born . 1. next": a stop that stands alone
        token = before.group()
        if stop.end() == at + 1 and not self.text[at + 1 : at + 2].isspace() and _URL.search(token):
            return at + 1 >= len(self.text)  # "www.Example.com" has lost no space
        starts_sentence = word in self.starters
        if _NUMBER.fullmatch(token.lstrip("([")):
            return self._number_ends(at - len(token), line_start, word, first)
        if self._abbreviates(token, at, first):
            return False
        bare = _bare(token)
        if _DOTTED.fullmatch(f"{bare}."):
            return starts_sentence
        if len(bare) == 1 and bare.isalpha():
            if _INITIAL_NEXT.match(self.text, at + 1):
                return False  # "z. B.", "J. R."
            return self._letter_ends(token, at, first, starts_sentence)
        if bare in MAY_END:
            return not first.isdigit() and (first.isupper() or self.caseless)
        return True

    def _abbreviates(self, token: str, at: int, first: str) -> bool:
        bare = _bare(token)
        return (
            bare in self.never
            or self._two_words(at) in self.never
            or (first.isdigit() and bare in BEFORE_NUMBER)
        )

    def _number_ends(self, start: int, line_start: int, word: str, first: str) -> bool:
        lead = self.text[max(line_start, start - 30) : start]
        if _ENUMERATOR.fullmatch(lead):
            return False  # "1. Take …": a number that opens its line counts items
        if lead.rstrip()[-1:] in ".!?:;":
            # It counts items when it opens a sentence; "See Fig. 3." and "pág. 3." end one.
            stop = start - len(lead) + len(lead.rstrip()) - 1
            token = lead.rstrip()[:-1].split()[-1:] or [""]
            return bool(token[0]) and (self._abbreviates(token[0], stop, "1") or len(token[0]) == 1)
        if self.lang in ("de", "nl") and ((word and word not in self.starters) or first.isdigit()):
            return not self.text[start:].lstrip("(")[:3].rstrip(". ").isdigit()  # "am 3. Mai"
        return True

    def _two_words(self, at: int) -> str:
        """The last two tokens before the stop, as in "p. ej"."""
        return _bare(" ".join(self.text[max(0, at - 24) : at].split()[-2:]))

    def _letter_ends(self, token: str, at: int, first: str, starts_sentence: bool) -> bool:
        """ "J. Smith" against "vitamin D. Patients": an initial follows nothing, another initial or a
        capitalised word."""
        if starts_sentence:
            return True
        if not token[-1].isupper():
            return not first.isdigit()
        words = self.text[max(0, at - 60) : at].split()
        previous = words[-2] if len(words) > 1 else ""
        return previous.isalpha() and previous.islower() and first.isupper() and len(previous) > 3


def _bare(token: str) -> str:
    return token.lstrip("\"'“‘«„([{*_").casefold()
