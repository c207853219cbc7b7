"""Inputs that cannot be taken: each is named with its reason, and everything else of the run is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.corpus import rows

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError


def write(folder: Path) -> None:
    """Two good files and one of each kind of bad one."""
    (folder / "good.md").write_text("# Burns\n\nCool the burn for 20 minutes.", encoding="utf-8")
    (folder / "good.txt").write_text("Store insulin in the refrigerator.", encoding="utf-8")
    (folder / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    (folder / "empty.md").write_bytes(b"")
    (folder / "blank.txt").write_bytes(b" \n\t\r\n   \n")
    (folder / "lines.jsonl").write_text(
        "\n".join(
            [
                json.dumps({"id": "line-good", "text": "A record about tetanus boosters."}),
                json.dumps({"id": "line-no-text", "title": "only a title"}),
                json.dumps({"id": "line-blank", "text": "   "}),
                "{not json",
                json.dumps({"text": "no id at all"}),
                json.dumps({"id": "line-bad-date", "text": "Some text.", "revised_at": "the 31st of June"}),
                json.dumps({"id": "line-bad-acl", "text": "Some text.", "acl": []}),
                json.dumps({"id": "line-last", "text": "The last record is about migraine."}),
            ]
        ),
        encoding="utf-8",
    )


async def test_what_is_refused_after_parsing_names_the_line_too(engine: AsyncVeraz, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    good, long = {"id": "a", "text": "Good."}, {"id": "b" * 3000, "text": "An id that no index holds."}
    path.write_text(f"{json.dumps(good)}\n{json.dumps(long)}\n")
    report = await engine.ingest([str(path)], source="s", lang="en")
    assert [(e.path, e.stage) for e in report.errors] == [(f"{path}:2", "parse")]
    assert report.new == 1


async def test_every_bad_input_is_named_and_the_rest_is_kept(engine: AsyncVeraz, tmp_path: Path) -> None:
    write(tmp_path)
    report = await engine.ingest([str(tmp_path), str(tmp_path / "missing.md")], source="s", lang="en")
    kept = {row[0] for row in await rows(engine, "select external_id from veraz.document")}
    assert kept == {"good.md", "good.txt", "line-good", "line-last"}
    named = {(Path(e.path.split(":")[0]).name, e.external_id): e for e in report.errors}
    assert report.failed == len(report.errors) == 10
    for file in ("image.md", "empty.md", "blank.txt", "missing.md"):
        assert any(name == file for name, _ in named), f"{file} is not named in {sorted(map(str, named))}"
    for line in ("line-no-text", "line-blank", "line-bad-date", "line-bad-acl"):
        assert ("lines.jsonl", line) in named
    for error in report.errors:
        assert error.reason
        assert error.stage in {"read", "parse", "chunk"}
    assert sorted(e.path.rpartition(":")[2] for e in report.errors if "lines.jsonl:" in e.path) == [
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
    ]


REASONS = [
    ("image.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "binary"),
    ("empty.md", b"", "no content"),
    ("blank.txt", b" \n\t\n", "no content"),
    ("rules.md", b"---\n***\n---\n", "no content"),
]


@pytest.mark.parametrize(("name", "payload", "reason"), REASONS)
async def test_the_reason_says_what_is_wrong(
    engine: AsyncVeraz, tmp_path: Path, name: str, payload: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(payload)
    report = await engine.ingest([str(tmp_path)], source="s", lang="en")
    assert [Path(e.path).name for e in report.errors] == [name]
    assert reason in report.errors[0].reason
    assert report.documents == 0


async def test_a_missing_path_is_an_error_of_its_own(engine: AsyncVeraz, tmp_path: Path) -> None:
    report = await engine.ingest([str(tmp_path / "nothing-here.md")], source="s")
    assert [(e.stage, "no such file" in e.reason) for e in report.errors] == [("read", True)]


STRANGE = {
    "invalid UTF-8": (b"Dosis: 2 mg t\xe4glich, see caf\xe9 leaflet for insulin.", "insulin"),
    "NUL bytes": (b"The speci\x00c gravity of insulin is 1.18.", "gravity"),
    "UTF-16": ("Dosierung: 2,5 mg, Überwachung der insulin-Gabe.".encode("utf-16"), "insulin"),
    "a word of 60 kB": (b"insulin " + b"x" * 60_000 + b" storage", "storage"),
    "a line of 300 kB": (b"insulin storage " * 20_000, "insulin"),
    "only one character": ("水".encode(), None),
    "lone surrogates": ("insulin \ud800 storage".encode("utf-8", "surrogatepass"), "storage"),
    "every control character": (bytes(b for b in range(1, 32)) + b" insulin storage", None),
}


@pytest.mark.parametrize("kind", STRANGE)
async def test_strange_bytes_are_taken_or_named_and_never_stop_the_run(
    engine: AsyncVeraz, tmp_path: Path, kind: str
) -> None:
    payload, word = STRANGE[kind]
    (tmp_path / "a-strange.txt").write_bytes(payload)
    (tmp_path / "b-good.txt").write_text("Cool the burn for 20 minutes.", encoding="utf-8")
    report = await engine.ingest([str(tmp_path)], source="s", lang="en")
    kept = {row[0] for row in await rows(engine, "select external_id from veraz.document")}
    named = {Path(e.path).name for e in report.errors}
    assert kept | named == {"a-strange.txt", "b-good.txt"}
    assert "b-good.txt" in kept
    if word and "a-strange.txt" in kept:
        found = await engine.search(word, lang="en", mode="lexical", k=50)
        assert any(h.document.external_id == "a-strange.txt" for h in found.hits)
    for text, start, end, spans in await rows(
        engine,
        "select r.text, c.start_at, c.end_at, c.spans from veraz.chunk c"
        " join veraz.revision r using (tenant_id, revision_id)",
    ):
        assert "\x00" not in text
        assert 0 <= start < end <= len(text)
        assert spans[0] == start
        assert spans[-1] == end


async def test_a_document_of_forty_thousand_distinct_words_is_indexed_to_its_end(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    """Public case H08: one tsvector holds at most 1 MB, so nothing may depend on one for the whole document."""
    words = " ".join(f"token{i:05d}filler{i * 7919 % 99991:05d}word" for i in range(40_000))
    (tmp_path / "big.txt").write_text(
        f"{words}. The override password phrase is heron-lantern-92.", encoding="utf-8"
    )
    report = await engine.ingest([str(tmp_path)], source="s", lang="en")
    assert report.errors == ()
    found = await engine.search("heron-lantern-92", lang="en", mode="lexical")
    assert "heron-lantern-92" in found.hits[0].body


@pytest.mark.parametrize("slug", ["", "Not A Slug", "-x", "x" * 64, "naïve"])
async def test_a_source_that_is_no_slug_is_refused_before_anything_is_read(
    engine: AsyncVeraz, slug: str
) -> None:
    with pytest.raises(UsageError, match=r"is not a slug[\s\S]*fix: "):
        await engine.ingest(["/nowhere"], source=slug)


@pytest.mark.parametrize("authority", [0, 6, -1])
async def test_an_authority_out_of_range_is_refused(engine: AsyncVeraz, authority: int) -> None:
    with pytest.raises(UsageError, match=r"authority is -?\d[\s\S]*fix: give a number from 1 to 5"):
        await engine.ingest(["/nowhere"], source="s", authority=authority)
