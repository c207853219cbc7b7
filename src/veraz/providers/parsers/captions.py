"""Paragraphs that name the table right below them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from veraz.nouns.corpus import Span
from veraz.providers.parsers.outline import Piece

_LONGEST = 400
_CAPTION = re.compile(
    r"[*_]{0,3}(?:Table|Tabla|Cuadro|Tableau|Tabelle|Tabella|Tabela|Tabel)\s+(?:[A-Z]?\d+(?:[.\-–]\d+)*|[IVXLC]+|[A-Z])[a-z]?"
    r"(?:[*_]{0,3}\s*[.:–—-]|[*_]{0,3}\s*(?:[\r\n]|$)|[*_]{0,3}\s+[*_]{0,3}[A-ZÀ-Þ])"
)


def captioned(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, each table with the paragraph before it as its caption where that begins like one ("Table 3. Doses")."""
    found = list(pieces[:1])
    for above, piece in pairwise(pieces):
        names = piece.kind == "table" and piece.caption is None and _names(text, above, piece)
        found.append(replace(piece, caption=Span(above.start, above.end)) if names else piece)
    return found


def _names(text: str, above: Piece, table: Piece) -> bool:
    apart = text[above.end : table.start].strip() or above.end - above.start > _LONGEST
    return above.kind == "paragraph" and not apart and bool(_CAPTION.match(text, above.start, above.end))
