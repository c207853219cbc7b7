"""Discovery: every input becomes an item or a named error; one bad one never stops the rest."""

from __future__ import annotations

import gzip
import io
import json
import os
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from veraz.errors import ItemError
from veraz.ingest import collection
from veraz.ingest import discover as discovery
from veraz.ingest.discover import discover
from veraz.nouns.corpus import RawItem


def found(*paths: object, stdin: bytes | None = None) -> tuple[list[RawItem], list[ItemError]]:
    stream = io.BytesIO(stdin) if stdin is not None else None
    everything = list(discover([str(path) for path in paths], stdin=stream))
    return [x for x in everything if isinstance(x, RawItem)], [
        x for x in everything if isinstance(x, ItemError)
    ]


def write(path: Path, content: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_folder_is_read_sorted_and_without_hidden_files(tmp_path: Path) -> None:
    for name in ["b.md", "a/z.txt", "a/b/c.html", "README", ".hidden.md", ".git/x.md", "B.HTM"]:
        write(tmp_path / name)
    items, errors = found(tmp_path)
    assert [(i.external_id, i.media) for i in items] == [
        ("B.HTM", "html"),
        ("README", "text"),
        ("a/b/c.html", "html"),
        ("a/z.txt", "text"),
        ("b.md", "markdown"),
    ]
    assert errors == []


def test_a_file_and_a_glob_name_the_same_document(tmp_path: Path) -> None:
    write(tmp_path / "docs/guide/a.md")
    assert found(tmp_path / "docs/guide/a.md")[0][0].external_id == "a.md"
    assert found(tmp_path / "docs/**/*.md")[0][0].external_id == "guide/a.md"
    assert found(tmp_path / "docs/guide/[a-c].md")[0][0].external_id == "a.md"


def test_links_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path / "real/a.md")
    (tmp_path / "real/loop").symlink_to(tmp_path)
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    items, errors = found(tmp_path)
    assert [i.external_id for i in items] == ["real/a.md"]
    assert "not there" in errors[0].reason


def test_a_glob_follows_a_loop_of_links_once(tmp_path: Path) -> None:
    write(tmp_path / "real/z.md")
    write(tmp_path / "real/deep/a.md")
    (tmp_path / "real/loop").symlink_to(tmp_path)
    (tmp_path / "again.md").symlink_to(tmp_path / "real/z.md")
    items, errors = found(tmp_path / "**/*.md")
    assert [i.external_id for i in items] == ["again.md", "real/deep/a.md", "real/z.md"]
    assert errors == []


def test_what_cannot_be_taken_is_named_with_its_fix(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", b"\x00\x01")
    write(tmp_path / "t.parquet")
    write(tmp_path / "ok.txt")
    (tmp_path / "empty").mkdir()
    items, errors = found(tmp_path / "missing.md", tmp_path / "*.zip", tmp_path / "empty", tmp_path)
    assert [i.external_id for i in items] == ["ok.txt"]
    reasons = {Path(e.path).name: (e.reason, e.fix or "") for e in errors}
    assert reasons["missing.md"][0] == "no such file or folder"
    assert reasons["*.zip"][0] == "nothing matches"
    assert reasons["empty"][0] == "no files in this folder"
    assert reasons["a.bin"][0] == "files of type .bin are not read"
    assert ".jsonl" in reasons["t.parquet"][1]
    assert all(e.fix and e.exit_code == 4 for e in errors)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.md").chmod(0)
    _, errors = found(tmp_path)
    assert "Permission denied" in errors[0].reason


def test_a_collection_gives_one_item_a_line_and_names_bad_lines(tmp_path: Path) -> None:
    rows = [
        '\ufeff{"id": "a", "text": "one"}',
        "",
        "{bad json",
        '{"text": "no id"}',
        '["list"]',
        '{"id": 7, "text": "int"}',
        '{"id": true, "text": "x"}',
        '{"id": "n", "v": NaN}',
        '{"id": " ", "text": "x"}',
        '{"_id": "beir", "text": "x"}',
        "[" * 100_000,
    ]
    path = write(
        tmp_path / "c.jsonl", "\n".join(rows).encode() + b'\n{"id": "\xff"}\n{"id": "z", "text": "last"}'
    )
    items, errors = found(path)
    assert [(i.external_id, i.line) for i in items] == [("a", 1), ("7", 6), ("beir", 10), ("z", 13)]
    assert [e.path.rsplit(":", 1)[1] for e in errors] == ["3", "4", "5", "7", "8", "9", "11", "12"]
    assert "invalid UTF-8 at byte 8" in errors[-1].reason
    assert all(e.fix for e in errors)


def test_a_compressed_collection_that_ends_too_early_gives_what_precedes(tmp_path: Path) -> None:
    rows = b"".join(
        json.dumps({"id": f"d{n}", "text": os.urandom(40).hex()}).encode() + b"\n" for n in range(500)
    )
    whole = gzip.compress(rows)
    items, errors = found(write(tmp_path / "c.jsonl.gz", whole))
    assert (len(items), errors) == (500, [])
    items, errors = found(write(tmp_path / "cut.jsonl.gz", whole[: len(whole) * 2 // 3]))
    assert 100 < len(items) < 500
    assert len(errors) == 1
    assert "ends too early" in errors[0].reason
    items, errors = found(write(tmp_path / "no.jsonl.gz", rows))
    assert items == []
    assert "gzip" in errors[0].reason


def test_a_repeated_id_of_two_files_names_both_places(tmp_path: Path) -> None:
    write(tmp_path / "one/x.md")
    write(tmp_path / "two/x.md")
    items, errors = found(tmp_path / "one", tmp_path / "two")
    assert [i.external_id for i in items] == ["x.md"]
    assert errors[0].path == str(tmp_path / "two/x.md")
    assert str(tmp_path / "one/x.md") in errors[0].reason


def test_records_with_one_id_are_versions_of_one_document(tmp_path: Path) -> None:
    one = write(tmp_path / "1.jsonl", '{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n')
    two = write(tmp_path / "2.jsonl", '{"id": "a", "text": "z"}\n')
    items, errors = found(one, two)
    assert errors == []
    assert [(i.external_id, i.record and i.record["text"]) for i in items] == [
        ("a", "x"),
        ("a", "y"),
        ("a", "z"),
    ]


def test_the_ids_of_a_collection_are_not_kept(tmp_path: Path) -> None:
    count = 100_000
    path = write(
        tmp_path / "c.jsonl", "".join(f'{{"id": "record-{n}", "text": "x"}}\n' for n in range(count))
    )
    tracemalloc.start()
    try:
        assert sum(isinstance(item, RawItem) for item in discover([str(path)])) == count
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_standard_input_is_a_collection_or_one_text() -> None:
    items, errors = found("-", stdin=b'\n  \n {"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\nbad\n')
    assert [i.external_id for i in items] == ["a", "b"]
    assert errors[0].path == "-:5"
    items, _ = found("-", stdin=b"\nPlain words.\nMore.")
    assert (items[0].external_id, items[0].media, items[0].payload) == (
        "stdin",
        "text",
        b"\nPlain words.\nMore.",
    )
    assert "no standard input" in found("-")[1][0].reason
    items, errors = found("-", "-", stdin=b"Plain words.")
    assert ([i.payload for i in items], errors) == ([b"Plain words."], [])


def test_a_collection_is_streamed(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", '{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n')
    stream = discover([str(path), str(tmp_path / "gone")])
    first = next(stream)
    assert isinstance(first, RawItem)
    assert first.external_id == "a"


def test_a_file_name_that_is_no_utf8_is_named_readably_and_the_rest_is_read(tmp_path: Path) -> None:
    write(tmp_path / os.fsdecode(b"caf\xe9.md"))
    write(tmp_path / "ok.md")
    items, errors = found(tmp_path)
    assert [i.external_id for i in items] == ["ok.md"]
    assert errors[0].path == f"{tmp_path}/caf\\udce9.md"
    assert "not UTF-8" in errors[0].reason


def test_a_path_that_the_system_refuses_is_an_error_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "ok.md")
    items, errors = found("x" * 5000, tmp_path)
    assert [i.external_id for i in items] == ["ok.md"]
    assert "too long" in errors[0].reason


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "docs/a.md")
    (tmp_path / "link.md").symlink_to(path)
    (tmp_path / "named").mkdir()
    (tmp_path / "named/a.md").symlink_to(path)
    items, errors = found(tmp_path / "docs", path, tmp_path / "docs/*.md", tmp_path / "named/a.md")
    assert [(i.external_id, i.path) for i in items] == [("a.md", str(path))]
    assert errors == []


def test_a_pipe_in_a_folder_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "b.jsonl")
    write(tmp_path / "c.txt")
    for paths in (tmp_path, tmp_path / "*"):
        items, errors = found(paths)
        assert [i.external_id for i in items] == ["c.txt"]
        assert [(e.external_id, e.reason) for e in errors] == [
            ("a.txt", "a pipe, a socket or a device, not a file"),
            ("b.jsonl", "a pipe, a socket or a device, not a file"),
        ]


def test_a_pipe_that_is_named_by_itself_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with ThreadPoolExecutor(1) as writer:
        writer.submit((tmp_path / "a.txt").write_bytes, b"words")
        assert [i.payload for i in found(tmp_path / "a.txt")[0]] == [b"words"]


def test_a_line_without_end_costs_itself_and_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "MAX_LINE", 1 << 20)
    monkeypatch.setattr(discovery, "MAX_LINE", 1 << 20)
    long = b'{"id": "long", "text": "' + b"a" * (40 << 20) + b'"}\n'
    rows = b'{"id": "a", "text": "x"}\n' + long + b'{"id": "b", "text": "y"}\n'
    plain = write(tmp_path / "c.jsonl", rows)
    packed = write(tmp_path / "c.jsonl.gz", gzip.compress(rows + long.rstrip()))
    tracemalloc.start()
    for path, wrong in ((plain, ["2"]), (packed, ["2", "4"])):
        items, errors = found(path)
        assert [(i.external_id, i.line) for i in items] == [("a", 1), ("b", 3)]
        assert [e.path for e in errors] == [f"{path}:{line}" for line in wrong]
        assert errors[0].reason == "a line of more than 1 MiB"
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    items, errors = found("-", stdin=long + rows)
    assert [i.external_id for i in items] == ["a", "b"]
    assert [e.path for e in errors] == ["-:1", "-:3"]


def test_a_text_on_standard_input_is_no_larger_than_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_BYTES", 1 << 20)
    text = b"word " * (1 << 20)
    for too_much in (text, b"\n" * (3 << 20)):
        _, errors = found("-", stdin=too_much)
        assert [(e.path, e.reason) for e in errors] == [("-", "larger than 1 MiB")]
    assert found("-", stdin=text[: 1 << 20])[0][0].payload == text[: 1 << 20]


@pytest.mark.parametrize("pattern", ["", "*", "**/*"])
@pytest.mark.parametrize("names_only", [False, True])
def test_pipes_devices_and_sockets_are_named_and_never_opened(
    tmp_path: Path, pattern: str, names_only: bool
) -> None:
    write(tmp_path / "a.md")
    os.mkfifo(tmp_path / "b.md")
    os.mkfifo(tmp_path / "c.jsonl")
    (tmp_path / "d.txt").symlink_to("/dev/zero")
    everything = list(discover([str(tmp_path / pattern)], names_only=names_only))
    assert [x.external_id for x in everything if isinstance(x, RawItem)] == ["a.md"]
    errors = [x for x in everything if isinstance(x, ItemError)]
    assert [(Path(x.path).name, x.reason) for x in errors] == [
        (name, "a pipe, a socket or a device, not a file") for name in ("b.md", "c.jsonl", "d.txt")
    ]
    assert all(error.fix for error in errors)


def test_a_pattern_enters_linked_folders_once(tmp_path: Path) -> None:
    write(tmp_path / "real/a.md")
    write(tmp_path / "real/below/b.md")
    for name in ("l", "m"):
        (tmp_path / "real/below" / name).symlink_to(tmp_path / "real")
    items, errors = found(tmp_path / "**/*.md")
    assert ([i.external_id for i in items], errors) == (["real/a.md", "real/below/b.md"], [])


def test_patterns_match_as_shells_do(tmp_path: Path) -> None:
    for name in ["a.md", "b.txt", "s/a.md", "s/t/a.md", "s/t/u/c.md", ".h/a.md", "s/.h.md", "[x].md"]:
        write(tmp_path / name)
    wanted = {
        "*.md": ["[x].md", "a.md"],
        "**/*.md": ["[x].md", "a.md", "s/a.md", "s/t/a.md", "s/t/u/c.md"],
        "s/**/*.md": ["a.md", "t/a.md", "t/u/c.md"],
        "*/a.md": ["s/a.md"],
        "*/*/a.md": ["s/t/a.md"],
        "**/t/*": ["s/t/a.md"],
        "s/**": ["a.md", "t/a.md", "t/u/c.md"],
        "?.[!m]*": ["b.txt"],
        "[[]x].md": ["[x].md"],
    }
    assert {pattern: [i.external_id for i in found(tmp_path / pattern)[0]] for pattern in wanted} == wanted


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_a_pattern_cannot_look_into_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a/x.md")
    write(tmp_path / "b/x.md")
    (tmp_path / "b").chmod(0)
    items, errors = found(tmp_path / "*/*.md")
    (tmp_path / "b").chmod(0o700)
    assert [i.external_id for i in items] == ["a/x.md"]
    assert [e.path for e in errors] == [str(tmp_path / "b")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ignore_files_are_read_as_editors_save_them(tmp_path: Path, encoding: str, end: str) -> None:
    write(tmp_path / ".verazignore", end.join(["drafts/", "geheim-ü.md", ""]).encode(encoding))
    for name in ["drafts/a.md", "geheim-ü.md", "b.md"]:
        write(tmp_path / name)
    assert [i.external_id for i in found(tmp_path)[0]] == ["b.md"]


@pytest.mark.parametrize("pattern", ["", "**/*.md"])
@pytest.mark.parametrize("rules", [b"a.md\n!\n", b"\x00\x01\x02\xff" * 20, None])
def test_rules_that_cannot_be_known_keep_their_folder_unread(
    tmp_path: Path, pattern: str, rules: bytes | None
) -> None:
    write(tmp_path / "private/a.md")
    write(tmp_path / "private/below/b.md")
    write(tmp_path / "public/c.md")
    if rules is None:
        (tmp_path / "private/.verazignore").symlink_to("nowhere")
    else:
        write(tmp_path / "private/.verazignore", rules)
    items, errors = found(tmp_path / pattern)
    assert [i.external_id for i in items] == ["public/c.md"]
    assert [e.path for e in errors] == [str(tmp_path / "private/.verazignore")]
    assert errors[0].external_id is None  # so that nothing is pruned
    assert errors[0].fix


def test_ignore_files_cost_no_time_in_deep_folders(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(150):
        folder = folder / "d"
        write(folder / "a.md")
    began = time.process_time()
    items, errors = found(tmp_path)
    assert (len(items), errors) == (150, [])
    assert time.process_time() - began < 10


def test_a_folder_whose_files_are_all_left_out_says_so_and_by_what(tmp_path: Path) -> None:
    rules = write(tmp_path / "below/.verazignore", b"*.md\n")
    write(tmp_path / "below/a.md")
    write(tmp_path / "b.txt")
    found_all = discover([str(tmp_path)], exclude=["*.txt"])
    (error,) = found_all
    assert isinstance(error, ItemError)
    assert error.reason == f"everything in this folder is left out by --exclude, {rules}"
    assert (error.path, error.external_id) == (str(tmp_path), None)
    assert error.fix
    (error,) = discover([str(tmp_path / "*.txt")], exclude=["*.txt"])
    assert isinstance(error, ItemError)
    assert error.reason == "nothing matches that is not left out by --exclude"
    (error,) = discover([str(tmp_path / "*.pdf")], exclude=["*.txt"])
    assert isinstance(error, ItemError)
    assert error.reason == "nothing matches"


def test_a_rule_that_is_taken_back_leaves_nothing_out(tmp_path: Path) -> None:
    write(tmp_path / ".verazignore", b"*.md\n!a.md\n")
    write(tmp_path / "a.md")
    assert [item.external_id for item in found(tmp_path)[0]] == ["a.md"]
