"""Chunkers by name, and what each does that the others do not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.support.chunking import by_characters, by_words, letters, parse

from veraz.errors import UsageError
from veraz.ingest.chunkers import CHUNKERS, ChunkContext, chunker, dropped, stated_chunker
from veraz.ingest.chunkers.late import token_embedder
from veraz.nouns.corpus import Span, Vectors

CONTEXT = ChunkContext("Handbook", 448, by_words, "en", embed=letters)
TEXT = "# Guide\n\nOpening words.\n\n" + "\n\n".join(
    f"## Part {n}\n\n" + " ".join(f"Sentence {i} of part {n} says a little more." for i in range(30))
    for n in range(3)
)


# Names and options


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="no chunker is called 'sentences'") as caught:
        chunker("sentences", {})
    assert all(name in str(caught.value.fix) for name in CHUNKERS)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fixed", {"sise": 200}, "unknown field `sise`.*it takes size, overlap"),
        ("fixed", {"size": "many"}, "options of the chunker 'fixed'.*it takes size, overlap"),
        ("fixed", {"size": 2.5}, "options of the chunker 'fixed'"),
        ("structure", {"size": 200}, "it takes no options"),
        ("parent-child", {"size": 15}, "size of 15.*at least 16"),
        ("parent-child", {"size": 128, "parent": 127}, "parents of 127 tokens for children of 128"),
        ("recursive", {"size": 0}, "size of 0.*at least 16"),
        ("sentence-window", {"sentences": -1}, "sentences of -1.*at least 0"),
        ("semantic", {"percentile": 101}, "percentile of 101.*from 0 to 100"),
        ("semantic", {"percentile": float("nan")}, "percentile of nan.*from 0 to 100"),
    ],
)
def test_a_bad_option_is_refused_with_the_fix(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=rf"(?s){message}"):
        chunker(name, options)


@pytest.mark.parametrize(("size", "overlap"), [(100, 100), (100, 150), (100, -1), (0, 0), (-5, 0)])
def test_windows_that_never_advance_are_refused_before_any_work(size: int, overlap: int) -> None:
    with pytest.raises(UsageError, match=r"(?s)chunker 'fixed'.*fix: use"):
        chunker("fixed", {"size": size, "overlap": overlap})


@pytest.mark.parametrize(("size", "overlap", "most"), [(100, 99, 900), (1, 0, 5000)])
def test_the_narrowest_windows_end_in_time(size: int, overlap: int, most: int) -> None:
    doc = parse(("Some words of a text. " * 300)[:5000], "text")
    made = chunker("fixed", {"size": size, "overlap": overlap})
    started = time.process_time()
    chunks = made.chunk(doc, CONTEXT)
    assert time.process_time() - started < 2
    assert 500 < len(chunks) <= most
    assert chunks[0].spans[0].start == 0
    assert chunks[-1].spans[0].end == len(doc.text.rstrip())


def test_the_version_says_everything_that_decides_the_output() -> None:
    assert chunker("fixed", {"size": "200", "overlap": 40}).version == "fixed/2 size=200 overlap=40"
    assert chunker("semantic", {"percentile": 80}).version == "semantic/1 percentile=80"
    assert chunker("sentence-window", {}).version == "sentence-window/1 sentences=3"
    assert chunker("recursive", {}).version == "recursive/1"
    assert chunker("recursive", {"size": 99}).version == "recursive/1 size=99"
    structure = chunker("structure", {}).version
    assert chunker("late", {}).version == f"late/1 {structure}"
    assert chunker("parent-child", {}).version == f"parent-child/1 size=128 parent=1024 {structure}"


def test_a_context_with_a_useless_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 24"):
        replace(CONTEXT, limit=23)


# What each does


def test_children_stay_inside_their_parents() -> None:
    doc = parse(TEXT)
    chunks = chunker("parent-child", {"size": 40, "parent": 200}).chunk(doc, CONTEXT)
    parents = sorted({(c.window.start, c.window.end) for c in chunks if c.window})
    assert len(chunks) > 2 * len(parents) > 8
    assert all(left[1] <= right[0] for left, right in pairwise(parents))
    for chunk in chunks:
        assert chunk.window is not None
        assert chunk.window.start <= chunk.spans[0].start < chunk.spans[0].end <= chunk.window.end
        assert chunk.token_count <= 40 + by_words([chunk.header])[0]
        assert by_words([doc.text[chunk.window.start : chunk.window.end]])[0] <= 204


def test_a_section_that_fits_is_the_parent() -> None:
    doc = parse(TEXT)
    chunks = chunker("parent-child", {"size": 40}).chunk(doc, CONTEXT)
    blocks = {block.section: Span(block.start, block.end) for block in doc.blocks}
    assert len(blocks) == 4
    assert all(chunk.window == blocks[chunk.section] for chunk in chunks)


def test_a_sentence_is_read_with_its_neighbours_of_the_section() -> None:
    doc = parse("# A\n\nOne is here. Two is here. Three is here.\n\nFour is here.\n\n# B\n\nFive is here.")
    chunks = chunker("sentence-window", {"sentences": 1}).chunk(doc, CONTEXT)
    assert [c.body for c in chunks] == [f"{n} is here." for n in ("One", "Two", "Three", "Four", "Five")]
    windows = [doc.text[c.window.start : c.window.end] for c in chunks if c.window]
    assert windows == [
        "One is here. Two is here.",
        "One is here. Two is here. Three is here.",
        "Two is here. Three is here.\n\nFour is here.",
        "Three is here.\n\nFour is here.",
        "Five is here.",
    ]


def test_a_window_wider_than_the_section_is_the_section() -> None:
    doc = parse("# A\n\nOne is here. Two is here.\n\n# B\n\nThree is here.")
    chunks = chunker("sentence-window", {"sentences": 10**12}).chunk(doc, CONTEXT)
    windows = [doc.text[c.window.start : c.window.end] for c in chunks if c.window]
    assert windows == ["One is here. Two is here."] * 2 + ["Three is here."]


def test_the_recursive_splitter_fills_chunks_over_sections() -> None:
    doc = parse("\n\n".join(f"## Part {n}\n\nA few words of part {n}." for n in range(40)))
    structure = chunker("structure", {}).chunk(doc, replace(CONTEXT, limit=100))
    chunks = chunker("recursive", {}).chunk(doc, replace(CONTEXT, limit=100))
    assert len(structure) == 40
    assert len(chunks) < 10
    assert chunks[0].heading_path == ("Part 0",)
    assert "## Part 1\n" in chunks[0].body
    assert all(part.why == "blank" for part in dropped(doc, chunks))


def test_fixed_windows_repeat_the_overlap() -> None:
    doc = parse(" ".join(f"w{n:03}" for n in range(200)), "text")  # one token a word
    chunks = chunker("fixed", {"size": 50, "overlap": 10}).chunk(doc, CONTEXT)
    words = [chunk.body.split() for chunk in chunks]
    assert [len(window) for window in words] == [50, 50, 50, 50, 40]
    assert all(left[-10:] == right[:10] for left, right in pairwise(words))


def test_a_semantic_chunk_ends_where_the_subject_does() -> None:
    topics = ["Aaa aba aaaa aab.", "Zzyz zyzz yzzz zzz."]
    doc = parse(" ".join(topic for topic in topics * 2 for _ in range(6)), "text")
    chunks = chunker("semantic", {"percentile": 80}).chunk(doc, CONTEXT)
    assert [set(c.body.replace(".", "").split()) for c in chunks] == [
        set(topic.replace(".", "").split()) for topic in topics * 2
    ]


def test_a_semantic_chunk_over_the_limit_is_cut() -> None:
    doc = parse("Aaa aba aaaa aab. " * 60, "text")
    chunks = chunker("semantic", {}).chunk(doc, replace(CONTEXT, limit=50))
    assert len(chunks) > 5
    assert max(c.token_count for c in chunks) <= 50


def test_semantic_needs_an_embedder_and_embeds_a_document_once() -> None:
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> Vectors:
        calls.append(len(texts))
        return np.ones((len(texts), 3), np.float32)

    doc = parse(TEXT)
    with pytest.raises(UsageError, match=r"(?s)needs an embedding model.*another chunker"):
        chunker("semantic", {}).chunk(doc, replace(CONTEXT, embed=None))
    chunks = chunker("semantic", {}).chunk(doc, replace(CONTEXT, embed=embed))
    assert calls == [91]
    assert len(chunks) == 4  # equal vectors give no breakpoint: sections as they are


def test_late_pools_the_chunks_of_structure() -> None:
    doc = parse(TEXT)
    late = chunker("late", {})
    assert late.chunk(doc, CONTEXT) == chunker("structure", {}).chunk(doc, CONTEXT)
    assert [name for name in CHUNKERS if chunker(name, {}).pooled] == ["late"]


def test_late_names_the_embedders_that_can() -> None:
    from tests.support.hashing import HashingEmbedder

    with pytest.raises(UsageError, match=r"(?s)needs token vectors.*'local'.*'hub'"):
        token_embedder(HashingEmbedder())


# What is dropped


def test_every_reason_is_given() -> None:
    doc = parse("Text.\n\n# One *two*\n\n***\n\n<!-- a note -->\n\nMore.\n\n***\n")
    left = dropped(doc, chunker("structure", {}).chunk(doc, CONTEXT))
    shown = [(part.why, doc.text[part.start : part.end]) for part in left if part.why != "blank"]
    assert shown == [
        ("heading", "# One *two*"),
        ("ruler", "***"),
        ("markup", "<!-- a note -->"),
        ("ruler", "***"),
    ]


def test_lost_text_is_an_error() -> None:
    doc = parse("One.\n\n# Two\n\nThree.")
    chunks = chunker("structure", {}).chunk(doc, CONTEXT)
    with pytest.raises(ValueError, match=r"text in no chunk at 13: 'Three\.'"):
        dropped(doc, chunks[:1])


def test_what_is_dropped_of_a_long_document_is_found_in_time() -> None:
    doc = parse("\n\n".join(f"# Part {n}\n\n***\n\nText." for n in range(4000)))
    chunks = chunker("structure", {}).chunk(doc, CONTEXT)
    started = time.process_time()
    left = dropped(doc, chunks)
    assert time.process_time() - started < 2
    assert sum(part.why == "heading" for part in left) == sum(part.why == "ruler" for part in left) == 4000


# Fewer texts are tokenised than could be


def test_a_section_that_fits_is_counted_once() -> None:
    counted: list[str] = []

    def count(texts: Sequence[str]) -> list[int]:
        counted.extend(texts)
        return by_words(texts)

    doc = parse("# A\n\n" + "Some words at first. " * 20 + "\n\n# B\n\n" + "Some words here. " * 300)
    chunks = chunker("structure", {}).chunk(doc, replace(CONTEXT, count_tokens=count))
    assert len(chunks) > 3
    bodies = [text for text in counted if "Some words" in text]
    assert sum(map(len, bodies)) < 4 * len(doc.text)
    assert sum(chunks[0].body in text for text in bodies) == 1


def test_counts_that_do_not_add_up_still_keep_the_limit(cases: Path) -> None:
    doc = parse((cases / "h_decimals.txt").read_bytes(), "text")
    for name in CHUNKERS:
        context = replace(CONTEXT, limit=40, count_tokens=by_characters)
        assert max(c.token_count for c in chunker(name, {}).chunk(doc, context)) <= 40


def test_a_parent_that_begins_inside_a_table_shows_its_header() -> None:
    rows = "\n".join(f"| drug {n} | {n} mg | {n + 1} mg |" for n in range(80))
    doc = parse(f"# Doses\n\n| name | adult | child |\n|---|---|---|\n{rows}\n")
    chunks = stated_chunker("parent-child:size=40,parent=120").chunk(
        doc, ChunkContext("S", 512, by_words, "en")
    )
    windows = {(chunk.window.start, chunk.window.end) for chunk in chunks if chunk.window}
    assert len(windows) > 3
    for chunk in chunks:
        assert chunk.display.startswith("| name | adult | child |\n|---|---|---|\n")
        assert chunk.display.endswith(doc.text[chunk.window.end - 10 : chunk.window.end])
        assert len(chunk.embedded_text) < len(chunk.display) * 2
