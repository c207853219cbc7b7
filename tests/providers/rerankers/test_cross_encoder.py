"""A cross-encoder of ten words, small enough to compute by hand, run by the real engine with a real tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.support.hashing import HashingEmbedder
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from veraz.errors import ConfigError, MalformedResponse
from veraz.providers.ports import Reranker
from veraz.providers.rerankers.registry import open_reranker

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dose", "kidney", "heart", "child", "the", "of"]
WORTH = np.random.default_rng(11).standard_normal((len(WORDS), 2)).astype(np.float32)


def write_model(path: Path, outputs: int = 1, extra: tuple[str, ...] = ()) -> None:
    """Of each pair the sum of the worth of its tokens, padding left out; the passage's tokens count threefold."""
    names = ("input_ids", "attention_mask", "token_type_ids", *extra)
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in names]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", outputs])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["worth"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["second", "two"], ["doubled"]),
        helper.make_node("Add", ["doubled", "one"], ["times"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["times", "mask"], ["weight"]),
        helper.make_node("Unsqueeze", ["weight", "last"], ["wide"]),
        helper.make_node("Mul", ["worth", "wide"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "axis"], ["logits"], keepdims=0),
    ]
    table = WORTH[:, :outputs] if outputs <= 2 else np.ones((len(WORDS), outputs), np.float32)
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(table), "table"),
        numpy_helper.from_array(np.array(2, np.float32), "two"),
        numpy_helper.from_array(np.array(1, np.float32), "one"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))


def write_tokenizer(path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.enable_truncation(5)  # as published models do; it must not be inherited
    tokenizer.enable_padding(length=5, pad_id=0)
    tokenizer.save(str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "onnx" / "model.onnx")
    write_tokenizer(tmp_path / "tokenizer.json")
    return tmp_path


def opened(model: Path, **options: Any) -> Reranker:
    given = {"model": str(model), "threads": 1, **options}
    return open_reranker("cross-encoder", given, embedder=HashingEmbedder(), chat=None).reranker


def by_hand(question: str, passage: str, column: int = 0) -> float:
    place = {word: i for i, word in enumerate(WORDS)}
    ids = [place.get(word, 1) for word in passage.split()]
    first = [2, *(place.get(word, 1) for word in question.split()), 3]
    worth = WORTH[:, column].astype(np.float64)
    return float(worth[first].sum() + 3 * worth[[*ids, 3]].sum())


QUESTION = "dose of the kidney"
PASSAGES = ["the heart", "kidney dose of the child kidney", "unheard of", "", "dose"]


async def test_it_is_what_the_model_says_of_each_pair(folder: Path) -> None:
    found = await opened(folder).rerank(QUESTION, PASSAGES)
    assert found.scores == pytest.approx([by_hand(QUESTION, passage) for passage in PASSAGES], abs=1e-5)
    assert found.truncated == ()


async def test_many_passages_of_many_lengths_keep_their_places(folder: Path) -> None:
    chance = np.random.default_rng(5)
    passages = [" ".join(chance.choice(WORDS[4:], size=n % 97)) for n in range(200)]
    found = await opened(folder).rerank(QUESTION, passages)
    assert found.scores == pytest.approx([by_hand(QUESTION, p) for p in passages], abs=1e-3)


async def test_two_outputs_are_relevant_less_not_relevant(folder: Path) -> None:
    write_model(folder / "model.onnx", outputs=2)
    found = await opened(folder / "model.onnx").rerank(QUESTION, PASSAGES)
    expected = [by_hand(QUESTION, p, 1) - by_hand(QUESTION, p, 0) for p in PASSAGES]
    assert found.scores == pytest.approx(expected, abs=1e-5)


async def test_a_pair_that_is_too_long_is_cut_and_named(folder: Path) -> None:
    found = await opened(folder, max_tokens=9).rerank("dose", ["kidney heart", "heart " * 5, "heart " * 30])
    assert found.truncated == (2,)
    assert found.scores[2] == found.scores[1]


async def test_without_passages_nothing_runs(folder: Path) -> None:
    assert (await opened(folder).rerank(QUESTION, [])).scores == ()


async def test_a_model_with_other_outputs_is_refused(folder: Path) -> None:
    write_model(folder / "onnx" / "model.onnx", outputs=3)
    with pytest.raises(MalformedResponse, match="not one or two numbers"):
        await opened(folder).rerank(QUESTION, PASSAGES)


def test_files_that_are_not_there_or_not_such_a_model_are_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no ONNX model"):
        opened(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="model"):
        open_reranker("cross-encoder", {}, embedder=HashingEmbedder(), chat=None)
    with pytest.raises(ConfigError, match="max_tokens is 3"):
        opened(folder, max_tokens=3)
    (folder / "tokenizer.json").rename(folder / "other.json")
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        opened(folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="tokenizer"):
        opened(folder)


def test_the_version_is_the_files(folder: Path) -> None:
    before = opened(folder).version
    assert before == opened(folder).version
    assert before != opened(folder, max_tokens=64).version
    write_model(folder / "onnx" / "model.onnx", outputs=2)
    assert before != opened(folder).version
