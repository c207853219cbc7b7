"""A model of the hub's layout, small enough to compute by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

HUB_WORDS = ["[PAD]", "[UNK]", "alpha", "beta", "gamma", "delta", ":", "query", "passage", "x"]


def write_hub_folder(folder: Path) -> Path:
    (folder / "onnx").mkdir(parents=True)
    _write_tokenizer(folder / "tokenizer.json")
    _write_model(folder / "onnx" / "model.onnx")
    (folder / "config.json").write_text(json.dumps({"hidden_size": 3, "pad_token_id": 0}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 6}))
    return folder


def hub_table() -> np.ndarray:
    return np.random.default_rng(7).standard_normal((len(HUB_WORDS), 3)).astype(np.float32)


def _write_tokenizer(path: Path) -> None:
    words = {word: i for i, word in enumerate(HUB_WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(4)  # as published models do; the engine must not inherit it
    tokenizer.enable_padding(length=4, pad_id=0)
    tokenizer.save(str(path))


def _write_model(path: Path) -> None:
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", 3])
    lookup = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    table = numpy_helper.from_array(hub_table(), "table")
    graph = helper.make_graph([lookup], "tiny", inputs, [output], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
