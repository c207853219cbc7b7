"""What holds for every chunker, over random documents and the public cases."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.chunking import (
    MARKDOWN,
    PARAGRAPH,
    Count,
    by_bytes,
    by_characters,
    by_words,
    letters,
    parse,
    whole,
)

from veraz.errors import UsageError
from veraz.ingest.chunkers import CHUNKERS, ChunkContext, Chunker, chunker, dropped
from veraz.nouns.corpus import Chunk, ParsedDocument

ALL = [
    ("structure", {}),
    ("late", {}),
    ("parent-child", {"size": 16, "parent": 60}),
    ("parent-child", {}),
    ("recursive", {}),
    ("recursive", {"size": 30}),
    ("sentence-window", {"sentences": 1}),
    ("fixed", {"size": 40, "overlap": 0}),
    ("fixed", {"size": 30, "overlap": 10}),
    ("fixed", {"size": 9, "overlap": 8}),
    ("fixed", {"size": 1, "overlap": 0}),
    ("semantic", {"percentile": 60}),
]
MADE = [chunker(name, options) for name, options in ALL]
each = pytest.mark.parametrize("made", MADE, ids=lambda made: made.version.replace(" ", ","))
CONTEXT = ChunkContext("Handbook", 448, by_words, "en", embed=letters)

_CJK = st.lists(
    st.sampled_from(["设备需要维护。", "注意！", "何时？", "用量为0.5毫克", "と", "1,234.5"]), max_size=40
).map("".join)
_ANY = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\n\r\t\u2028 #-*|.5"), max_size=300
)
_DOCUMENT = st.one_of(MARKDOWN, MARKDOWN.map(lambda text: text.replace("\n", "\r\n")), _CJK, _ANY).map(
    lambda text: text + "\n\nThe end."
)


_TINY = {MADE[2].version}
"""Chunks too small for the sentences and lines of the cases."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def overlaps(made: Chunker) -> bool:
    return re.search(r"overlap=[1-9]", made.version) is not None


def check(doc: ParsedDocument, chunks: tuple[Chunk, ...], context: ChunkContext) -> None:
    starts = [section.start for section in doc.sections]
    assert [chunk.ord for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) <= len(doc.text)
    for before, chunk in pairwise([None, *chunks]):
        [span] = chunk.spans
        assert chunk.body == doc.text[span.start : span.end]
        assert chunk.body.strip()
        assert before is None or (before.spans[0].start < span.start and before.spans[0].end <= span.end)
        section = doc.sections[chunk.section]
        assert section.start == max(start for start in starts if start <= span.start)
        assert chunk.heading_path == section.heading_path
        assert chunk.token_count == context.count_tokens([chunk.embedded_text])[0]
        assert chunk.token_count <= context.limit or len(chunk.body) == 1
        if chunk.window:
            assert (
                section.start
                <= chunk.window.start
                <= span.start
                < span.end
                <= chunk.window.end
                <= section.end
            )


def check_lossless(doc: ParsedDocument, chunks: tuple[Chunk, ...], *, once: bool) -> None:
    left = dropped(doc, chunks)
    if once:
        assert whole(doc, chunks, left) == doc.text
    held = bytearray(len(doc.text))
    for part in [*(span for chunk in chunks for span in chunk.spans), *left]:
        held[part.start : part.end] = b"x" * (part.end - part.start)
    assert held == b"x" * len(doc.text)
    for part in left:
        shown = doc.text[part.start : part.end]
        assert (part.why == "blank") == shown.isspace()
        assert part.why == "heading" or not any(map(str.isalnum, shown))


@each
@given(
    text=_DOCUMENT,
    limit=st.sampled_from([24, 40, 90, 448]),
    count=st.sampled_from([by_words, by_characters, by_bytes]),
    header=st.booleans(),
    media=st.sampled_from(["markdown", "text"]),
)
@example(
    text="# Part 0.5\n\n# Part dose\n\n## Part 0.5\n\ndose.",
    limit=24,
    count=by_words,
    header=True,
    media="markdown",
)
@example(text="a\n\n***\n\nb\n\n## ***\n\nc", limit=24, count=by_words, header=True, media="markdown")
@settings(max_examples=60, deadline=None)
def test_every_document_is_kept_whole_within_the_limit(
    made: Chunker, text: str, limit: int, count: Count, header: bool, media: str
) -> None:
    doc = parse(text, media)
    context = replace(CONTEXT, limit=limit, count_tokens=count, header=header)
    chunks = made.chunk(doc, context)
    check(doc, chunks, context)
    check_lossless(doc, chunks, once=not overlaps(made))
    assert header or not any(chunk.header for chunk in chunks)


@each
@pytest.mark.parametrize("limit", [24, 40, 64, 448])
@pytest.mark.parametrize("count", [by_words, by_characters, by_bytes])
@pytest.mark.parametrize(
    "text",
    [
        "- " + "\xa0" * 12 + "Digoxin\n- " + "\xa0" * 12 + "Ciclosporin",
        "#" + " " * 500 + "foo" + " " * 500 + ".\n\nThe end.",
        "example\nFoo\n\n" + "-" * 300 + "\n\nFoo\n\n" + "* " * 200 + "\n\nbar.",
        "One.\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000\u3000Two." * 30,
        "a\n\n<!-- " + ". " * 300 + "-->\n\nb" + "\n" * 300 + "c",
    ],
    ids=["nbsp", "spaces", "rulers", "ideographic", "comment"],
)
def test_wide_gaps_and_rulers_between_words_stop_no_chunker(
    made: Chunker, limit: int, count: Count, text: str
) -> None:
    """What stands between two pieces of text costs tokens too where every byte does."""
    context = replace(CONTEXT, limit=limit, count_tokens=count)
    doc = parse("# Interactions with other medicines\n\n" + text, "markdown")
    chunks = made.chunk(doc, context)
    check(doc, chunks, context)
    check_lossless(doc, chunks, once=not overlaps(made))


@each
@given(PARAGRAPH, st.sampled_from([24, 40, 90]))
@settings(max_examples=40, deadline=None)
def test_no_chunk_begins_or_ends_inside_a_number(made: Chunker, text: str, limit: int) -> None:
    if made.version == "fixed/2 size=1 overlap=0":
        pytest.skip("a window of one token holds no number")
    doc = parse(text, "text")
    for chunk in made.chunk(doc, replace(CONTEXT, limit=limit)):
        for at in (chunk.spans[0].start, chunk.spans[0].end):
            assert not any(number.start() < at < number.end() for number in _NUMBER.finditer(doc.text))


_QUANTITY = re.compile(r"(?:[<≥±] ?)?\d+(?:[.,]\d+)*[⁰¹²³⁴⁵⁶⁷⁸⁹½]*(?: ?(?:mg|%))?")


@each
@pytest.mark.parametrize("limit", [40, 90])
@pytest.mark.parametrize(
    "text",
    [
        "用量为10⁵单位每天" * 60,
        "每天服用2½片然后" * 60,
        "每天服用0.5mg然后再" * 60,
        "浓度为10%然后≥5次±0.2" * 60,
        "take 5 mg or 10 % or < 5 mg or ± 0.2 % then " * 60,
        "مُحَمَّدٌرَسُولُ" * 60,
    ],
    ids=["raised", "half", "unit", "signs", "spaced", "arabic"],
)
def test_no_chunk_begins_or_ends_inside_a_quantity_or_a_character(
    made: Chunker, limit: int, text: str
) -> None:
    """10⁵ is not 10, and half a milligram is not a half."""
    if made.version in (*_TINY, "fixed/2 size=1 overlap=0", "fixed/2 size=9 overlap=8"):
        pytest.skip("a few characters hold no quantity")
    doc = parse(text, "text")
    quantities = [found.span() for found in _QUANTITY.finditer(doc.text)]
    count: Count = lambda texts: [3 + sum(1 + (char > "\u1000") for char in text) for text in texts]  # noqa: E731
    for chunk in made.chunk(doc, replace(CONTEXT, limit=limit, count_tokens=count)):
        for at in (chunk.spans[0].start, chunk.spans[0].end):
            assert [doc.text[a:b] for a, b in quantities if a < at < b] == []
            assert not unicodedata.category(doc.text[at : at + 1] or " ").startswith("M")


@each
@pytest.mark.parametrize(
    "name",
    [
        "h_fence.md",
        "h_repeats.md",
        "h_cjk.txt",
        "h_crlf.txt",
        "h_decimals.txt",
        "h_table.md",
        "h_wide_table.md",
    ],
)
def test_the_public_cases_are_kept_whole(made: Chunker, cases: Path, name: str) -> None:
    doc = parse((cases / name).read_bytes(), "markdown" if name.endswith("md") else "text")
    for limit in (30, 120, 448):
        context = replace(CONTEXT, limit=limit, lang="zh" if "cjk" in name else "en")
        chunks = made.chunk(doc, context)
        check(doc, chunks, context)
        check_lossless(doc, chunks, once=not overlaps(made))


@each
def test_the_same_document_gives_the_same_chunks(made: Chunker, cases: Path) -> None:
    doc = parse((cases / "h_table.md").read_bytes())
    assert made.chunk(doc, CONTEXT) == made.chunk(doc, CONTEXT)


@each
def test_line_ends_change_no_boundary(made: Chunker, cases: Path) -> None:
    payload = (cases / "h_crlf.txt").read_bytes()
    crlf, lf = parse(payload, "text"), parse(payload.replace(b"\r\n", b"\n"), "text")
    assert crlf.text.count("\r\n") > 10
    context = replace(CONTEXT, limit=60)
    ours = [chunk.body.replace("\r\n", "\n") for chunk in made.chunk(crlf, context)]
    assert ours == [chunk.body for chunk in made.chunk(lf, context)]


@each
def test_text_without_spaces_is_within_the_limit(made: Chunker, cases: Path) -> None:
    doc = parse((cases / "h_cjk.txt").read_bytes(), "text")
    count: Count = lambda texts: [2 + len(text) for text in texts]  # noqa: E731
    chunks = made.chunk(doc, replace(CONTEXT, limit=200, count_tokens=count, lang="zh"))
    assert len(chunks) > 30
    assert max(chunk.token_count for chunk in chunks) <= 200
    if made.version not in _TINY and not made.version.startswith("fixed"):
        assert all(chunk.body[-1] in "。！？" for chunk in chunks)


@each
def test_a_repeated_sentence_keeps_its_own_place_in_every_chunker(made: Chunker, cases: Path) -> None:
    doc = parse((cases / "h_repeats.md").read_bytes())
    warning = next(line for line in doc.text.splitlines() if line.startswith("Warning:"))
    places = {found.start() for found in re.finditer(re.escape(warning), doc.text)}
    assert len(places) == 3
    chunks = made.chunk(doc, CONTEXT)
    held = {at for chunk in chunks for span in chunk.spans for at in places if span.start <= at < span.end}
    assert held == places
    assert len({chunk.spans for chunk in chunks}) == len(chunks)


@pytest.mark.parametrize(
    "name", ["structure", "late", "parent-child", "recursive", "sentence-window", "semantic"]
)
def test_a_code_block_and_list_items_that_fit_stay_whole(name: str) -> None:
    code = "```sh\n# stop. Then go on.\nrun --now\n\n# again.\nrun\n```"
    items = [f"- Item {n} is one thing. It is said in two sentences." for n in range(9)]
    text = "One sentence. Another one. " * 9 + f"\n\n{code}\n\n" + "\n".join(items)
    doc = parse(f"# Guide\n\n{text}\n")
    chunks = chunker(name, {}).chunk(doc, replace(CONTEXT, limit=50))
    assert len(chunks) > 3
    assert sum(code in chunk.body for chunk in chunks) == 1
    assert all(sum(item in chunk.body for chunk in chunks) == 1 for item in items)


@each
def test_a_comment_in_a_fence_begins_no_section(made: Chunker, cases: Path) -> None:
    chunks = made.chunk(parse((cases / "h_fence.md").read_bytes()), CONTEXT)
    paths = {chunk.heading_path for chunk in chunks}
    assert paths <= {("Backup guide",), ("Backup guide", "Restore")}
    if made.version not in _TINY and not made.version.startswith("fixed"):
        assert all(chunk.display.count("```") % 2 == 0 for chunk in chunks)


@each
def test_a_large_document_ends_in_seconds(made: Chunker) -> None:
    body = "A sentence of a few words. " * 40 + "word" * 500
    doc = parse("\n\n".join(f"## Part {n}\n\n{body}" for n in range(20)))
    chunks = made.chunk(doc, CONTEXT)
    assert len(chunks) < 60_000
    check_lossless(doc, chunks, once=not overlaps(made))


@each
def test_a_prefix_that_fills_the_limit_is_refused(made: Chunker) -> None:
    count: Count = lambda texts: [40 + len(text) for text in texts]  # noqa: E731
    with pytest.raises(UsageError, match="passage prefix"):
        made.chunk(parse("Some words."), replace(CONTEXT, limit=24, count_tokens=count))


def test_every_chunker_is_under_test() -> None:
    assert {name for name, _ in ALL} == set(CHUNKERS)
    assert len({made.version for made in MADE}) == len(MADE)
