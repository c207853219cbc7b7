"""The structure chunker: lossless, exact, inside sections, within the limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.chunking import (
    MARKDOWN,
    PARAGRAPH,
    WORDS,
    Count,
    by_characters,
    by_words,
    chunk_document,
    parse,
    whole,
)

from veraz.errors import UsageError
from veraz.ingest.chunkers import dropped
from veraz.nouns.corpus import Chunk, ParsedDocument, RawItem
from veraz.providers.parsers import parser_for


def chunks_of(
    doc: ParsedDocument, limit: int = 448, count: Count = by_words, lang: str = "en"
) -> tuple[Chunk, ...]:
    return chunk_document(doc, source_name="Handbook", limit=limit, count_tokens=count, lang=lang)


def check(doc: ParsedDocument, chunks: Sequence[Chunk], limit: int, count: Count) -> None:
    """What must hold for every document."""
    at = 0
    for n, chunk in enumerate(chunks):
        section = doc.sections[chunk.section]
        assert chunk.ord == n
        assert chunk.body == "".join(doc.text[span.start : span.end] for span in chunk.spans)
        assert chunk.body.strip()
        assert chunk.heading_path == section.heading_path
        assert section.start <= chunk.spans[0].start < chunk.spans[-1].end <= section.end
        assert chunk.spans[0].start >= at
        at = chunk.spans[-1].end
        assert chunk.token_count == count([chunk.embedded_text])[0]
        assert chunk.token_count <= limit or len(chunk.body) == 1
        assert count([chunk.header])[0] <= limit // 4 if chunk.header else True


def uncovered(doc: ParsedDocument, chunks: Sequence[Chunk]) -> str:
    """Characters in no chunk, without white space."""
    kept, at = [], 0
    for chunk in chunks:
        kept.append(doc.text[at : chunk.spans[0].start])
        at = chunk.spans[-1].end
    return "".join("".join([*kept, doc.text[at:]]).split())


# Properties


@given(
    text=MARKDOWN,
    limit=st.sampled_from([24, 40, 64, 128, 448]),
    count=st.sampled_from([by_words, by_characters]),
)
@settings(max_examples=150, deadline=None)
def test_structured_markdown_is_kept_whole(text: str, limit: int, count: Count) -> None:
    doc = parse(text)
    chunks = chunks_of(doc, limit, count)
    check(doc, chunks, limit, count)
    left = dropped(doc, chunks)
    assert whole(doc, chunks, left) == doc.text
    titles = {section.start: section.heading for section in doc.sections if section.level}
    for part in left:
        shown = doc.text[part.start : part.end]
        assert (part.why == "blank") == shown.isspace()
        assert part.why == "heading" or not any(map(str.isalnum, shown))
        assert part.why != "heading" or shown.lstrip("#").strip() == titles[part.start]


@given(text=st.text(max_size=400), limit=st.sampled_from([24, 60, 448]))
@settings(max_examples=200, deadline=None)
def test_any_plain_text_is_kept_whole(text: str, limit: int) -> None:
    item = RawItem("c.jsonl", "doc", "record", record={"text": text + " end"}, line=1)
    doc = parser_for(item).parse(item)
    chunks = chunks_of(doc, limit, by_characters)
    check(doc, chunks, limit, by_characters)
    assert whole(doc, chunks, dropped(doc, chunks)) == doc.text


@given(PARAGRAPH, st.sampled_from([24, 40, 90]))
@settings(max_examples=100, deadline=None)
def test_no_cut_parts_a_number(text: str, limit: int) -> None:
    doc = parse(text, "text")
    for chunk in chunks_of(doc, limit):
        for at in (chunk.spans[0].start, chunk.spans[-1].end):
            assert not re.fullmatch(
                r"\d[.,]\d|\d\d.|.\d\d", doc.text[max(0, at - 2) : at + 1], re.S
            ) or at in (
                0,
                len(doc.text),
            )


@given(
    rows=st.lists(st.lists(WORDS, min_size=2, max_size=4), min_size=1, max_size=25),
    limit=st.sampled_from([64, 90, 200]),
    after=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_no_row_is_shown_without_its_header(rows: list[list[str]], limit: int, after: bool) -> None:
    body = "\n".join(f"| row{n} | {' '.join(cells)} | x |" for n, cells in enumerate(rows))
    text = f"Intro.\n\n| Drug | Adult | Child |\n|---|---|---|\n{body}\n" + "\nAfter." * after
    doc = parse(text)
    for chunk in chunks_of(doc, limit):
        if "| row" in chunk.body:
            assert "| Drug |" in chunk.display or chunk.display.startswith("Drug: ")


# Known failures of this trade


def test_a_decimal_number_is_never_cut(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_decimals.txt").read_bytes(), "text")
    chunks = chunks_of(doc, 24)
    assert len(chunks) > 3
    for chunk in chunks:
        end = chunk.spans[0].end
        assert not re.match(r"\d[.,]\d", doc.text[end - 2 : end + 1])
        assert not re.match(r"\d[.,]\d", doc.text[end - 1 : end + 2])
    assert any("0.5 mg" in chunk.body for chunk in chunks)


def test_text_without_spaces_is_cut_at_its_own_stops(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_cjk.txt").read_bytes(), "text")
    count: Count = lambda texts: [2 + len(text) for text in texts]  # noqa: E731
    chunks = chunks_of(doc, 448, count, lang="zh")
    check(doc, chunks, 448, count)
    assert len(chunks) > 10
    assert all(chunk.body[-1] in "。！？" for chunk in chunks[:-1])
    assert uncovered(doc, chunks) == ""


def test_line_ends_change_nothing_but_themselves(shared: Path) -> None:
    crlf = parse((shared / "cases/files/h_crlf.txt").read_bytes(), "text")
    lf = parse((shared / "cases/files/h_crlf.txt").read_bytes().replace(b"\r\n", b"\n"), "text")
    assert crlf.text.count("\r\n") > 10
    assert len(crlf.blocks) == len(lf.blocks) > 10
    ours_blocks = [crlf.text[b.start : b.end].replace("\r\n", "\n") for b in crlf.blocks]
    assert ours_blocks == [lf.text[b.start : b.end] for b in lf.blocks]
    ours, theirs = chunks_of(crlf, 40), chunks_of(lf, 40)
    assert [c.body.replace("\r\n", "\n") for c in ours] == [c.body for c in theirs]


def test_a_repeated_sentence_keeps_its_own_place(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_repeats.md").read_bytes())
    chunks = chunks_of(doc)
    warnings = [c for c in chunks if c.body.startswith("Warning:")]
    assert [c.heading_path[-1] for c in warnings] == ["Pump", "Fan", "Heater"]
    assert len({c.spans for c in warnings}) == 3
    starts = [c.spans[0].start for c in chunks]
    assert starts == sorted(starts)


def test_a_comment_in_a_fence_is_no_heading(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_fence.md").read_bytes())
    chunks = chunks_of(doc)
    assert {c.heading_path for c in chunks} == {("Backup guide",), ("Backup guide", "Restore")}
    assert all(c.body.count("```") % 2 == 0 for c in chunks)


def test_a_cut_fence_is_shown_closed_and_opened_again(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_fence.md").read_bytes())
    chunks = chunks_of(doc, 30)
    code = [c for c in chunks if c.kind == "code"]
    assert len(code) > 1
    for chunk in chunks:
        assert chunk.display.count("```") % 2 == 0
        assert chunk.display.strip("`\nbash ")
    assert code[1].display.startswith("```bash\n")


def test_every_piece_of_a_long_table_has_its_header(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_table.md").read_bytes())
    chunks = chunks_of(doc, 120)
    check(doc, chunks, 120, by_words)
    rows = [c for c in chunks if "Zentrapril-" in c.body]
    assert len(rows) > 5
    for chunk in rows:
        assert (
            chunk.display.count("| Drug | Adult dose | Child dose | Renal adjustment |\n|---|---|---|---|\n")
            == 1
        )
        assert all(
            line.startswith("| Zen") and line.endswith("|")
            for line in chunk.body.splitlines()
            if "Zen" in line
        )
    assert sum(c.body.count("Zentrapril-47 ") for c in chunks) == 1
    # The sentence that says what all doses mean stays with the first rows.
    assert "All doses are per day." in rows[0].body


def test_both_header_rows_travel_with_every_row(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_wide_table.md").read_bytes())
    chunks = chunks_of(doc, 448)
    check(doc, chunks, 448, by_words)
    holding = [c for c in chunks if "Unit-31 |" in c.body]
    assert len(holding) == 1
    assert holding[0].heading_path == ("Report", "Regional breakdown")
    assert "| Unit | 2023 | | | | 2024 | | | |\n| | Q1 net | Q2 net |" in holding[0].display
    assert sum(c.body.count("5,120") for c in chunks) == doc.text.count("5,120") == 1


@pytest.mark.parametrize("limit", [70, 90, 130])
def test_a_row_wider_than_a_chunk_is_cut_between_cells(shared: Path, limit: int) -> None:
    doc = parse((shared / "cases/files/h_wide_table.md").read_bytes())
    chunks = chunks_of(doc, limit)
    check(doc, chunks, limit, by_words)
    holding = next(c for c in chunks if "5,120" in c.body)
    header, names, rule, row = holding.display.splitlines()
    column = [cell.strip() for cell in row.split("|")].index(
        next(c.strip() for c in row.split("|") if "5,120" in c)
    )
    assert row.startswith("| Unit-")
    assert (header.split("|")[column].strip(), names.split("|")[column].strip()) == ("2023", "Q3 net")
    assert rule.startswith("|---|")
    for chunk in chunks:
        if chunk.kind == "table" and "Unit-" in chunk.body:
            assert chunk.body.endswith(("|", "units)"))
            assert "Unit" in chunk.display.split("|")[1]


def test_a_blank_section_gives_no_chunk(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_blank_section.md").read_bytes())
    assert [c.body for c in chunks_of(doc)] == ["Pump 3 was serviced.", "Next service is on day 90."]


def test_a_heading_that_is_a_statement_is_not_lost() -> None:
    doc = parse("# Guide\n\nText.\n\n## Call 112 at once\n\n## Notes\n\n## End\n\nMore.")
    assert [c.body for c in chunks_of(doc)] == ["Text.", "## Call 112 at once", "More."]


def test_a_document_of_headings_only_is_still_found() -> None:
    chunks = chunks_of(parse("# Guide\n\n## Notes\n"))
    assert [c.body for c in chunks] == ["## Notes"]


@pytest.mark.parametrize("limit", [-1, 0, 1, 23])
def test_a_useless_limit_is_refused(limit: int) -> None:
    with pytest.raises(UsageError, match="at least 24"):
        chunks_of(parse("text"), limit)


def test_a_prefix_that_fills_the_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="passage prefix"):
        chunks_of(parse("Some words."), 24, lambda texts: [40 + len(text) for text in texts])


def test_a_word_of_60_kb_ends() -> None:
    doc = parse("x" * 60_000, "text")
    count: Count = lambda texts: [2 + len(text) // 3 for text in texts]  # noqa: E731
    chunks = chunks_of(doc, 100, count)
    check(doc, chunks, 100, count)
    assert uncovered(doc, chunks) == ""
    assert len(chunks) < 1200


def test_digits_without_end_are_cut_only_because_they_must() -> None:
    doc = parse("1.5," * 2000, "text")
    chunks = chunks_of(doc, 60, by_characters)
    check(doc, chunks, 60, by_characters)


def test_sizes_are_even_rather_than_full_with_a_rest() -> None:
    doc = parse(" ".join(f"Sentence number {n} has exactly eight words here." for n in range(40)), "text")
    sizes = [c.token_count for c in chunks_of(doc, 200)]
    assert max(sizes) - min(sizes) < 60


def test_a_list_stays_with_the_line_that_introduces_it() -> None:
    filler = "\n\n".join(f"Paragraph {n} says one thing and then says it again." for n in range(12))
    doc = parse(f"{filler}\n\nDo not take it if you:\n\n- are pregnant\n- have gout")
    for limit in range(60, 160, 10):
        holding = next(c for c in chunks_of(doc, limit) if "Do not take it" in c.body)
        assert "- are pregnant" in holding.body


def test_a_cell_longer_than_a_chunk_keeps_its_names() -> None:
    words = " ".join(f"effect{n}." for n in range(200))
    doc = parse(f"| Drug | Adverse effects |\n|---|---|\n| A | {words} |\n| B | none, 1 |\n")
    chunks = chunks_of(doc, 60)
    check(doc, chunks, 60, by_words)
    inner = [c for c in chunks if "effect50." in c.body or "effect150." in c.body]
    assert [c.display.startswith("A | Adverse effects: ") for c in inner] == [True, True]
    assert any("| Drug | Adverse effects |" in c.display and "| B | none, 1 |" in c.display for c in chunks)


def test_a_table_without_header_repeats_no_row() -> None:
    rows = "\n".join(f"| drug{n} | {n} mg |" for n in range(40))
    chunks = chunks_of(parse(rows, "text"), 60)
    assert len(chunks) > 3
    assert all(c.display == c.body for c in chunks)


def test_a_title_without_markup_opens_a_chunk_and_closes_none() -> None:
    parts = [
        f"Part {n}\n\n" + " ".join(f"Sentence {i} of this part says a little." for i in range(9))
        for n in range(12)
    ]
    doc = parse("\n\n".join(parts), "text")
    for limit in (150, 200, 260):
        bodies = [c.body for c in chunks_of(doc, limit)]
        assert not any(re.search(r"Part \d+$", body) for body in bodies)
