from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import pytest

from veraz.errors import ConfigError
from veraz.nouns.distance import Distance
from veraz.providers.embedders.registry import open_embedder


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'nope'(.|\n)*local, openai, hub"):
        open_embedder("nope", cache=tmp_path, options={})


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("local", {"precison": "fp32"}, "precison"),
        ("local", {"precision": "fp64"}, "fp64"),
        ("local", {"threads": "two"}, "threads"),
        ("openai", {"model": "m"}, "dimensions"),
        ("openai", {"model": "m", "dimensions": 8, "colour": "red"}, "colour"),
        ("hub", {"pooling": "max"}, "max"),
    ],
)
def test_an_unusable_option_is_named_with_the_known_ones(
    tmp_path: Path, name: str, options: dict[str, object], says: str
) -> None:
    with pytest.raises(ConfigError, match=f"embedder '{name}'(.|\n)*{says}(.|\n)*it takes"):
        open_embedder(name, cache=tmp_path, options=options)


@pytest.mark.parametrize("distance", get_args(Distance))
def test_a_space_declares_the_distance_that_was_asked_for(
    tmp_path: Path, model_cache: Path, hub_folder: Path, distance: Distance
) -> None:
    for name, cache, options in (
        ("local", model_cache, {"threads": 1}),
        ("openai", tmp_path, {"model": "m", "dimensions": 8, "base_url": "http://localhost:1"}),
        ("hub", tmp_path, {"path": str(hub_folder)}),
    ):
        space = open_embedder(name, cache=cache, options=options, distance=distance).space
        assert (space.distance, space.normalised) == (distance, True)


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for module in ("local", "onnx_engine"):
        monkeypatch.delitem(sys.modules, f"veraz.providers.embedders.{module}", raising=False)
    with pytest.raises(ConfigError, match=r"onnxruntime(.|\n)*pip install 'veraz\[local\]'"):
        open_embedder("local", cache=tmp_path, options={})
