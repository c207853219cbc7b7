from __future__ import annotations

import errno
import hashlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veraz.errors import ProviderError
from veraz.providers.modelcache import cached_file, is_intact


class Maker:
    """Writes the same content each time and counts how often."""

    def __init__(self, content: bytes = b"model") -> None:
        self.content = content
        self.times = 0

    def __call__(self, path: Path) -> None:
        self.times += 1
        path.write_bytes(self.content)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "model.onnx"


def test_a_file_is_made_once(path: Path) -> None:
    make = Maker()
    assert cached_file(path, make) == path
    cached_file(path, make)
    assert make.times == 1
    assert path.read_bytes() == b"model"
    assert path.with_name("model.onnx.sha256").read_text().strip() == hashlib.sha256(b"model").hexdigest()


@pytest.mark.parametrize("damage", [b"", b"mod", b"modelmodel", b"MODEL"])
def test_a_damaged_file_is_made_again(path: Path, damage: bytes) -> None:
    make = Maker()
    cached_file(path, make)
    path.write_bytes(damage)
    cached_file(path, make)
    assert make.times == 2
    assert path.read_bytes() == b"model"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"0" * 64])
def test_a_missing_or_wrong_digest_counts_as_damage(path: Path, content: bytes | None) -> None:
    make = Maker()
    cached_file(path, make)
    digest = path.with_name("model.onnx.sha256")
    if content is None:
        digest.unlink()
    else:
        digest.write_bytes(content)
    assert not is_intact(path)
    cached_file(path, make)
    assert make.times == 2
    assert is_intact(path)


def test_a_maker_that_fails_leaves_nothing_that_looks_finished(path: Path) -> None:
    def fail(partial: Path) -> None:
        partial.write_bytes(b"half")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        cached_file(path, fail)
    assert not path.exists()
    assert not list(path.parent.glob("*.partial"))
    assert cached_file(path, Maker()).read_bytes() == b"model"


def test_what_a_dead_process_left_is_overwritten(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("model.onnx.partial").write_bytes(b"from a process that died, and longer than the model")
    assert cached_file(path, Maker()).read_bytes() == b"model"


def test_a_full_disk_is_named_with_the_way_out(path: Path) -> None:
    def fill(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ProviderError, match=r"No space left on device(.|\n)*free disk space") as caught:
        cached_file(path, fill)
    assert str(path.parent) in str(caught.value)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    with pytest.raises(ProviderError, match=str(blocker / "cache")):
        cached_file(blocker / "cache" / "model.onnx", Maker())


def test_an_intact_file_needs_no_right_to_write(path: Path) -> None:
    cached_file(path, Maker())
    path.with_name("model.onnx.lock").unlink()
    cached_file(path, Maker())
    assert not path.with_name("model.onnx.lock").exists()


SLOW_MAKER = """
import sys, time
from pathlib import Path
from veraz.providers.modelcache import cached_file

def make(partial):
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
    partial.write_bytes(b"x")
    time.sleep(0.5)
    partial.write_bytes(b"model" * 1000)

print("ready", flush=True)
sys.stdin.readline()
print(len(cached_file(Path(sys.argv[1]), make).read_bytes()))
"""


def test_two_processes_at_once_make_it_once_and_both_read_it_whole(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", SLOW_MAKER, str(path), str(log)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = []
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        output, _ = process.communicate(timeout=60)
        outputs.append(output.strip())
    assert outputs == ["5000"] * 3
    assert log.read_text() == "made\n"


def test_a_process_killed_while_making_blocks_nobody(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", SLOW_MAKER.replace("0.5", "600"), str(path), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        limit = time.monotonic() + 60
        while not path.with_name("model.onnx.partial").exists():
            assert time.monotonic() < limit
            time.sleep(0.01)
        process.kill()
    assert cached_file(path, Maker()).read_bytes() == b"model"
