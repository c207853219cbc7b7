"""The count before an ingest agrees with what discovery then finds."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from veraz.cli import ingest
from veraz.cli.count import count_items
from veraz.errors import UnavailableError
from veraz.ingest.discover import discover


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    (root / "below" / ".hidden").mkdir(parents=True)
    (root / "a.md").write_text("# A")
    (root / "picture.png").write_bytes(b"")
    (root / ".secret.md").write_text("# S")
    (root / "below" / "b.txt").write_text("b")
    (root / "below" / ".hidden" / "c.md").write_text("# C")
    (root / "below" / "rows.jsonl").write_text('{"id": 1}\n\n{"id": 2}\nnot json\n')
    (root / "below" / "loop").symlink_to(root)
    with gzip.open(root / "rows.jsonl.gz", "wt") as rows:
        rows.write('{"id": 3}\n{"id": 4}')
    return root


def test_folders_files_globs_and_collections(folder: Path) -> None:
    for paths, wanted in (
        ([str(folder)], 8),
        ([str(folder / "a.md"), str(folder / "rows.jsonl.gz")], 3),
        ([str(folder / "b*" / "*.txt")], 1),
        ([str(folder / "absent")], 1),
    ):
        assert count_items(paths) == wanted
        assert sum(1 for _ in discover(paths)) == wanted


def test_what_is_left_out_does_not_count(folder: Path) -> None:
    (folder / "below" / ".verazignore").write_text("b.txt")
    for paths in ([str(folder)], [str(folder / "**" / "*")]):
        left = sum(1 for _ in discover(paths, exclude=["*.png", "rows.jsonl"]))
        assert count_items(paths, ["*.png", "rows.jsonl"]) == left == 3


def test_standard_input_has_no_length(folder: Path) -> None:
    assert count_items(["-", str(folder)]) is None


def test_a_broken_collection_counts_as_one(tmp_path: Path) -> None:
    broken = tmp_path / "x.jsonl.gz"
    broken.write_bytes(b"not gzip")
    assert count_items([str(broken)]) == 1


def test_pipes_are_not_read_and_linked_folders_not_entered_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    (tmp_path / "below").mkdir()
    for name in ("l", "m"):
        (tmp_path / "below" / name).symlink_to(tmp_path)
    (tmp_path / "below" / "a.md").write_text("a")
    assert count_items([str(tmp_path)]) == 2
    assert count_items([str(tmp_path / "**" / "*.md")]) == 1


def test_lines_are_counted_whatever_their_length(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x" * (3 << 20) + b"\n\n" + b" " * (2 << 20) + b"\n" + b" " * (2 << 20) + b"y\nz")
    assert count_items([str(path)]) == 3


def test_counting_ends_as_soon_as_nobody_wants_to_know(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{}\n" * 50_000)
    asked = iter([False, True])
    assert count_items([str(path)], stopped=lambda: next(asked, True)) is None
    assert list(asked) == []
    assert count_items([str(tmp_path)], stopped=lambda: False) == 50_000


def test_a_pipe_that_is_named_is_left_for_the_ingest_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    assert count_items([str(tmp_path / "rows.jsonl")]) == 1


async def test_a_run_that_fails_does_not_wait_for_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def counting(_paths: object, _exclude: object, stopped: Callable[[], bool]) -> None:
        while not stopped():
            time.sleep(0.01)
        ended.set()

    class Engine:
        async def ingest(self, *_: object, **__: object) -> None:
            await asyncio.sleep(0.05)
            raise UnavailableError("gone")

    class NoBars:
        def show(self, *what: object) -> None: ...

    monkeypatch.setattr(ingest, "count_items", counting)
    run = ingest.Run(("x",), {"exclude": (), "lang": "auto", "license_": None, "revised_at": None})
    with pytest.raises(UnavailableError):
        await run(Engine(), NoBars())  # type: ignore[arg-type]
    assert await asyncio.to_thread(ended.wait, 5)
