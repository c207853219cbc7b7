from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_hub import HUB_WORDS, hub_table

from veraz.errors import ConfigError, ProviderError
from veraz.nouns.corpus import Span
from veraz.providers.embedders.hub import HubModel, HubOptions
from veraz.providers.embedders.registry import open_embedder


@pytest.fixture
def folder(hub_folder: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    return Path(shutil.copytree(hub_folder, tmp_path / "tiny-e5-test"))


def open_hub(folder: Path, **options: Any) -> HubModel:
    return HubModel(HubOptions(path=str(folder), **options), cache=folder)


def expected(words: list[str], pooling: str = "mean") -> np.ndarray:
    rows = hub_table()[[HUB_WORDS.index(word) for word in words]]
    vector = rows.mean(axis=0) if pooling == "mean" else rows[0]
    return np.asarray(vector / np.linalg.norm(vector))


def passage(model: HubModel, *texts: str) -> np.ndarray:
    return asyncio.run(model.embed(list(texts), "passage")).vectors


def test_token_vectors_are_averaged_over_the_text_and_not_over_padding(folder: Path) -> None:
    vectors = passage(open_hub(folder), "alpha beta", "gamma", "alpha delta x")
    head = ["passage", ":"]
    want = [expected(head + text.split()) for text in ("alpha beta", "gamma", "alpha delta x")]
    np.testing.assert_allclose(vectors, want, atol=1e-6)


def test_vectors_keep_the_models_length_where_they_are_not_to_be_normalised(folder: Path) -> None:
    model = open_hub(folder, normalise=False, passage_prefix="")
    assert not model.space.normalised
    rows = hub_table()[[HUB_WORDS.index(word) for word in ("gamma", "beta")]]
    vectors = passage(model, "gamma beta", "gamma")
    np.testing.assert_allclose(vectors, [rows.mean(axis=0), rows[0]], atol=1e-6)
    assert abs(np.linalg.norm(vectors[0]) - 1) > 0.05
    (pooled,) = asyncio.run(model.embed_spans("gamma beta", [[Span(0, 10)]]))
    np.testing.assert_allclose(pooled, vectors[0], atol=1e-6)


def test_a_model_that_declares_its_first_token_is_pooled_so(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    model = open_hub(folder, passage_prefix="")
    np.testing.assert_allclose(passage(model, "gamma beta"), [expected(["gamma"], "cls")], atol=1e-6)


def test_the_space_is_what_the_files_declare(folder: Path) -> None:
    space = open_hub(folder).space
    assert (space.name, space.provider, space.dimension, space.max_tokens) == ("tiny-e5-test", "hub", 3, 6)
    assert (space.query_prefix, space.passage_prefix) == ("query: ", "passage: ")
    assert len(space.fingerprint) == 64


def test_declared_prompts_win_over_the_name_and_options_over_both(folder: Path) -> None:
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "Q ", "document": "D "}})
    )
    assert open_hub(folder).space.passage_prefix == "D "
    chosen = open_hub(folder, query_prefix="", max_tokens=4).space
    assert (chosen.query_prefix, chosen.max_tokens) == ("", 4)


def test_the_tokenizers_own_limit_does_not_cut_in_silence(folder: Path) -> None:
    model = open_hub(folder, passage_prefix="")
    assert model.count_tokens(["alpha " * 9]) == [9]
    batch = asyncio.run(model.embed(["alpha " * 9, "alpha " * 6], "passage"))
    assert batch.truncated == (0,)


@pytest.mark.parametrize(
    ("file", "says"), [("tokenizer.json", "tokenizer.json"), ("onnx/model.onnx", "model.onnx")]
)
def test_a_missing_or_broken_file_is_named(folder: Path, file: str, says: str) -> None:
    (folder / file).write_text("{broken")
    with pytest.raises(ProviderError, match=says):
        open_hub(folder)
    (folder / file).unlink()
    with pytest.raises(ProviderError, match=says):
        open_hub(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="nowhere"):
        open_hub(tmp_path / "nowhere")


@pytest.mark.parametrize("options", [{}, {"path": "a", "repo": "b/c"}])
def test_one_of_path_and_repo_is_needed(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="exactly one of path and repo"):
        open_embedder("hub", cache=tmp_path, options=options)


def test_a_hub_that_cannot_be_reached_is_said_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    def unreachable(*_: object, **__: object) -> str:
        raise OSError("Name or service not known")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(ProviderError, match=r"owner/model.*Name or service(.|\n)*give its directory as path"):
        open_embedder("hub", cache=tmp_path, options={"repo": "owner/model"})


def test_a_complete_download_is_used_without_the_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[bool] = []

    def stored(*_: object, local_files_only: bool, **__: object) -> str:
        asked.append(local_files_only)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", stored)
    open_embedder("hub", cache=tmp_path, options={"repo": "owner/model"})
    (folder / "tokenizer.json").rename(folder / "tokenizer.moved")
    with pytest.raises(ProviderError, match="no tokenizer"):
        open_embedder("hub", cache=tmp_path, options={"repo": "owner/model"})
    assert asked == [True, True, False]


def test_the_hub_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"huggingface_hub(.|\n)*pip install 'veraz\[hub\]'"):
        open_embedder("hub", cache=tmp_path, options={"repo": "owner/model"})
