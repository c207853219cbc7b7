"""Public failure reports at the level of search and answers: H05 to H10, H12 to H16, H20 to H22, H24, H56 to H58."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import Words, put, record, rows
from tests.support.hashing import HashingEmbedder

from veraz.config import AnswerConfig, IngestConfig, SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult


async def load(engine: AsyncVeraz, cases: Path, *names: str, lang: str = "en") -> None:
    report = await engine.ingest([str(cases / name) for name in names], source="s", lang=lang)
    assert report.errors == ()


async def search(engine: AsyncVeraz, question: str, mode: Any = "lexical", lang: str = "en") -> SearchResult:
    return await engine.search(question, lang=lang, mode=mode, k=50)


def place(result: SearchResult, heading: str) -> int | None:
    return next((h.rank for h in result.hits if heading in (*h.heading_path, h.body)), None)


PLAIN = ("E-4021", "e-4021", "E4021", "e4021", "E 4021", "4021", '"E-4021"', "code E-4021 relay")
SPELLINGS = (*PLAIN, "E‑4021", "E–4021", "(E-4021)", "E-4021?", "E-4021.")
DASHES = (
    "E--4021",
    "e---4021",
    "E - 4021",
    "E – 4021",
    "E −4021",
    "E−4021",
    "E—4021",
    "E－4021",
    "E -- 4021",
    "--4021",
    "-4021",
    "−4021",
    "+4021",
    "4021-",
)


@pytest.mark.parametrize("spelling", [*SPELLINGS, *DASHES])
async def test_h05_a_code_is_found_in_every_spelling(engine: AsyncVeraz, cases: Path, spelling: str) -> None:
    await load(engine, cases, "h_codes.md")
    found = await search(engine, spelling)
    assert place(found, "Fault E-4021") == 1
    other = place(found, "Fault E-4102")
    assert other is None or other > 1
    hybrid = await search(engine, spelling, "hybrid")
    assert place(hybrid, "Fault E-4021") is not None, "nothing was excluded"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("for 5--10 days", "5-10"),
        ("for 5--10 days", "10"),
        ("for 5 to 10 days", "5--10"),
        ("for 5–10 days", "5--10"),
        ("at 24V-", "24V"),
        ("at 24V", "24V-"),
        ("at -24V", "24V"),
        ("at +24V", "-24V"),
        ("kept at -20 °C", "20"),
        ("kept at 20 °C", "−20"),
        ("kept at +34.5", "34.5"),
        ("on 2024--06--01", "2024-06-01"),
    ],
)
async def test_dashes_before_a_number_are_no_sign_on_either_side(
    engine: AsyncVeraz, tmp_path: Path, written: str, asked: str
) -> None:
    (tmp_path / "a.txt").write_text(f"A pump runs {written}.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("A pump stands still.", encoding="utf-8")
    await engine.ingest([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], source="s", lang="en")
    assert [h.document.external_id for h in (await search(engine, asked)).hits] == ["a.txt"]


async def test_h06_words_that_occur_nowhere_take_nothing_away(engine: AsyncVeraz, cases: Path) -> None:
    await load(engine, cases, "h_codes.md")
    long = "please tell me which relay I should replace when fault E-4021 shows up on a Monday"
    assert place(await search(engine, long), "Fault E-4021") == 1
    assert place(await search(engine, "replace relay K3 and reset the drive"), "Fault E-4021") == 1


async def test_h06_more_of_the_words_stand_first_and_fewer_are_found_too(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("all", "Replace the relay of the drive when the fault shows."),
        record("some", "Replace the filter of the drive."),
        record("one", "The drive of a wheel."),
        record("none", "Paint it green."),
    )
    for question in ("replace relay drive fault", "please, replace the relay of drive, fault of Mondays"):
        found = await search(engine, question)
        assert [h.document.external_id for h in found.hits] == ["all", "some", "one"], question


@pytest.mark.parametrize(
    ("question", "lang"),
    [
        ("¿qué es?", "es"),
        ("was ist das", "de"),
        ("qu'est-ce que c'est", "fr"),
        ('"the"', "en"),
        ("-the", "en"),
        ("the OR a", "en"),
        ("... --- ...", "en"),
    ],
)
async def test_h07_in_other_languages_and_with_marks(
    engine: AsyncVeraz, cases: Path, question: str, lang: str
) -> None:
    await load(engine, cases, "h_stopwords.txt", "h_codes.md")
    found = await search(engine, question, lang=lang)
    assert found.hits == ()
    assert found.notes
    assert (await engine.ask(question, lang=lang)).outcome == "insufficient"
    both = await search(engine, question, "hybrid", lang=lang)
    assert all(hit.lexical is None for hit in both.hits)


async def test_h07_stop_words_alone_are_no_question(engine: AsyncVeraz, cases: Path) -> None:
    await load(engine, cases, "h_stopwords.txt", "h_codes.md")
    for question in ("the", "???", "", "   ", "who is it"):
        found = await search(engine, question)
        assert found.hits == (), question
        assert found.notes or question == "who is it"
        answer = await engine.ask(question, lang="en")
        assert answer.outcome == "insufficient", question
    for question in ("???", "", "\t"):
        everything = await search(engine, question, "hybrid")
        assert everything.hits == ()
        assert any("no searchable words" in note for note in everything.notes)
    phrase = await search(engine, "to be or not to be", "hybrid")
    assert phrase.hits[0].document.external_id == "h_stopwords.txt"


async def test_h08_every_word_of_a_huge_vocabulary_is_indexed_to_the_end(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    """1.9 MB of 40,000 words of which no two are alike, with the sentence at the end, and a small file beside it."""
    words = [f"w{n}x{hashlib.md5(str(n).encode(), usedforsecurity=False).hexdigest()}" for n in range(40_000)]
    lines = [" ".join(words[n : n + 12]) for n in range(0, len(words), 12)]
    tail = "The override password phrase is heron-lantern-92."
    (tmp_path / "big.txt").write_text("\n".join(lines) + f"\n\n{tail}\n", encoding="utf-8")
    (tmp_path / "small.txt").write_text("A heron stands in the water.", encoding="utf-8")
    report = await engine.ingest([str(tmp_path)], source="s", lang="en")
    assert (report.errors, report.new) == ((), 2)
    for question in ("heron-lantern-92", "heron lantern 92"):
        found = await search(engine, question)
        assert found.hits[0].document.external_id == "big.txt"
        assert tail in found.hits[0].body
    for word in (words[0], words[20_000], words[-1]):
        assert [h.document.external_id for h in (await search(engine, word)).hits] == ["big.txt"], word
    assert (await search(engine, "water")).hits[0].document.external_id == "small.txt"


@pytest.mark.parametrize("lang", ["nl", "en", "de", "any", "auto"])
async def test_h10_literal_words_are_found_whatever_language_is_asked_in(
    engine: AsyncVeraz, cases: Path, lang: str
) -> None:
    await load(engine, cases, "h_dutch.txt", lang="nl")
    for question in ("fietsen", "vergunningen", "Bewoners mogen twee fietsen"):
        found = await search(engine, question, lang=lang)
        assert [h.document.external_id for h in found.hits][:1] == ["h_dutch.txt"], question


QUESTIONS = (
    "What's the relay's rating?",
    "What’s the relay’s rating?",
    "relay & (code",
    "relay:*",
    "!relay | <->",
    "C:\\plant\\relay",
    '"unbalanced relay',
    "relay " + "and more text " * 1500,
    "relay\x00relay",
    "relay'; drop table veraz.chunk; --",
    "%(question)s relay {embedding} %s",
    "relay \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_h09_what_users_type_is_text(engine: AsyncVeraz, cases: Path, question: str) -> None:
    await load(engine, cases, "h_codes.md")
    for mode in ("lexical", "hybrid", "semantic"):
        found = await search(engine, question, mode)
        assert found.question == question.replace("\x00", " ")
    assert place(await search(engine, question), "Fault E-4021") == 1
    answer = await engine.ask(question, lang="en")
    json.dumps([answer.question, answer.answer, answer.reason])


async def test_h15_utf16_with_a_mark_is_read_as_what_it_says(engine: AsyncVeraz, cases: Path) -> None:
    await load(engine, cases, "h_utf16le.txt", lang="de")
    found = await search(engine, "Überwachung", lang="de")
    assert [h.document.external_id for h in found.hits] == ["h_utf16le.txt"]
    assert "Dosierung: 2,5 mg — Überwachung" in found.hits[0].body
    assert not found.hits[0].body.startswith("\ufeff")
    for question in ("Uberwachung", "überwachung", "2,5 mg", "2.5 mg"):
        assert (await search(engine, question, lang="de")).hits, question


@pytest.mark.parametrize("spelling", ["10^5", "10⁵", "10⁵ CFU/mL", "what is the limit of 10^5"])
async def test_h16_powers_stay_powers(engine: AsyncVeraz, cases: Path, spelling: str) -> None:
    await load(engine, cases, "h_superscript.txt")
    found = await search(engine, spelling)
    assert "10⁵ CFU/mL" in found.hits[0].body
    assert "105" not in " ".join(h.body for h in found.hits)
    assert "2½ tablets" in " ".join(h.body for h in found.hits)
    assert (await search(engine, "105")).hits == ()


async def test_h14_the_words_around_a_nul_are_found(engine: AsyncVeraz, cases: Path) -> None:
    await load(engine, cases, "h_nul.txt")
    found = await search(engine, "gravity of solution B")
    assert found.hits
    assert "\x00" not in found.hits[0].body
    json.dumps(found.hits[0].body)


async def test_h14_a_nul_in_text_title_and_metadata_costs_nothing_else(
    engine: AsyncVeraz, tmp_path: Path
) -> None:
    (tmp_path / "nul.md").write_bytes(
        b"---\nbatch: B\x0017\n---\n\n# Batch\x00 record\n\nThe speci\x00c gravity of solution B is 1.18.\n"
    )
    (tmp_path / "clean.md").write_text("# Labels\n\nEach family has its own label.\n", encoding="utf-8")
    report = await engine.ingest([tmp_path], source="s", lang="en")
    assert (report.new, report.errors) == (2, ())
    assert any("3 NUL characters removed" in warning for warning in report.warnings)
    for question, name in (("gravity of solution B", "nul.md"), ("label of a family", "clean.md")):
        assert (await search(engine, question)).hits[0].document.external_id == name
    stored = await rows(
        engine, "select title, meta ->> 'batch' from veraz.revision where text like '%gravity%'"
    )
    assert stored == [("Batch record", "B17")]


async def test_h16_an_answer_quotes_the_power_as_it_stands(eager_engine: AsyncVeraz, cases: Path) -> None:
    await load(eager_engine, cases, "h_superscript.txt")
    answer = await eager_engine.ask("What must the total count be below?", lang="en")
    assert any("10⁵ CFU/mL" in cited.quote for cited in answer.citations)
    assert "10⁵ CFU/mL" in answer.answer
    assert "105" not in answer.answer


async def test_h20_a_citation_opens_the_copy_that_was_asked_for(
    eager_engine: AsyncVeraz, cases: Path
) -> None:
    await load(eager_engine, cases, "h_repeats.md")
    ((text,),) = await rows(eager_engine, "select text from veraz.revision")
    warning = "Warning: disconnect the mains before opening the cover."
    found = await search(eager_engine, warning, "hybrid")
    starts = {
        hit.heading_path[-1]: text.index(warning, text.index(f"## {hit.heading_path[-1]}"))
        for hit in found.hits
    }
    for hit in found.hits:
        assert text[hit.start : hit.end] == hit.body
        assert hit.start == starts[hit.heading_path[-1]]
    assert set(starts) == {"Pump", "Fan", "Heater"}
    answer = await eager_engine.ask(
        "What must be disconnected before opening the cover of the heater?", lang="en"
    )
    cited = next(c for c in answer.citations if c.heading_path[-1] == "Heater")
    assert text.rindex(warning) <= cited.start < cited.end <= text.rindex(warning) + len(warning)


class ByCharacter(HashingEmbedder):
    """Counts every character, as most models nearly do with Chinese."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [2 + len(text) for text in texts]


async def test_h21_a_fact_at_the_end_of_text_without_spaces_is_found(database: str, cases: Path) -> None:
    async with await databases.open_engine(database, ByCharacter()) as engine:
        await load(engine, cases, "h_cjk.txt", lang="zh")
        ((chunks, vectors, longest),) = await rows(
            engine,
            "select count(*), count(e.chunk_id), max(c.token_count) from veraz.chunk c"
            " left join veraz.embedding_1 e using (tenant_id, chunk_id)",
        )
        assert chunks == vectors > 10
        assert longest <= 512
        found = await search(engine, "备用钥匙存放在哪里", lang="zh")
        assert "备用钥匙存放在东侧三号柜内" in found.hits[0].body


async def test_h22_an_answer_keeps_its_decimal_point(database: str, cases: Path) -> None:
    small = IngestConfig(chunk_tokens=32, isolated=False)
    async with await databases.open_engine(
        database, ingest=small, answer=AnswerConfig(threshold=0)
    ) as engine:
        await load(engine, cases, "h_decimals.txt")
        assert await rows(engine, "select count(*) > 1 from veraz.chunk") == [(True,)]
        answer = await engine.ask("How much is the start in the evening?", lang="en")
        assert answer.claims[0].text == "Start with 0.5 mg in the evening."
        assert answer.citations[0].quote == "Start with 0.5 mg in the evening."


async def test_h24_a_figure_of_a_wide_table_is_found_once_and_first(database: str, cases: Path) -> None:
    async with await databases.open_engine(
        database, ingest=IngestConfig(chunk_tokens=128, isolated=False)
    ) as engine:
        await load(engine, cases, "h_wide_table.md")
        for mode in ("lexical", "hybrid"):
            found = await search(engine, "5,120", mode)
            assert [hit.rank for hit in found.hits if "5,120" in hit.body] == [1], mode


async def test_h56_a_citation_names_the_page_that_its_words_are_on(
    eager_engine: AsyncVeraz, cases: Path
) -> None:
    report = await eager_engine.ingest(cases / "h_partial_text.pdf", source="s", lang="en")
    assert report.errors == ()
    assert any("page 2 holds no text" in warning for warning in report.warnings)
    for question, page in (("What is the HB-9?", 3), ("Which crane was checked?", 1)):
        answer = await eager_engine.ask(question, lang="en")
        assert [cited.page for cited in answer.citations] == [page], question


async def test_h57_a_cell_of_a_word_file_answers(eager_engine: AsyncVeraz, cases: Path) -> None:
    await load(eager_engine, cases, "h_table.docx")
    ((text,),) = await rows(eager_engine, "select text from veraz.revision")
    assert text.index("Before table") < text.index("| Sorbex | 17 ppm |") < text.index("After table")
    answer = await eager_engine.ask("What is the limit for Sorbex?", lang="en")
    assert "17 ppm" in answer.answer
    assert "23 ppm" not in answer.answer
    assert answer.citations[0].external_id == "h_table.docx"
    assert "Sorbex | 17 ppm" in answer.citations[0].quote


async def test_h58_a_sentence_under_thousands_of_tags_is_found(engine: AsyncVeraz, cases: Path) -> None:
    await load(engine, cases, "h_deep.html", "h_codes.md")
    for question, name in (("inner chamber code 5529", "h_deep.html"), ("E-4021", "h_codes.md")):
        assert (await search(engine, question)).hits[0].document.external_id == name


def filler(number: int, parts: int) -> dict[str, Any]:
    """Passages of which three in five mention a system, in passing."""
    made = Words(number, 300)
    mention = ("the system", "a system", "this system", "no device", "a pump")
    text = "\n\n".join(
        f"## {made.sentence(2, 3)}\n\n{made.text(2)} See {mention[n % 5]}." for n in range(parts)
    )
    return record(f"bulk{number}", text, format="markdown")


@pytest.mark.parametrize("budget", [200_000, 650])
async def test_h12_h13_the_right_passage_comes_first_right_after_a_bulk_load(
    database: str, budget: int
) -> None:
    """The section that is called so stands above hundreds that mention a word of it, whether every posting is read or few."""
    late = record("late", "## System shutdown order\n\nStop the feed, then the fan.", format="markdown")
    async with await databases.open_engine(database, search=SearchConfig(budget=budget)) as engine:
        await put(engine, *(filler(n, 40) for n in range(40)), late)
        gin = await rows(
            engine,
            "select c.relname from pg_class c join pg_am a on a.oid = c.relam"
            " where a.amname = 'gin' and c.relnamespace = 'veraz'::regnamespace",
        )
        assert gin == [], "an index with a pending list that a search would have to read"
        assert await rows(engine, "select count(*) from veraz.posting where block < 0") == [(0,)]
        found = await search(engine, "system shutdown order")
        assert found.hits[0].document.external_id == "late"
        common = await engine.search("system", lang="en", mode="lexical", k=10)
        assert len(common.hits) == 10
        assert len({h.document.external_id for h in common.hits}) >= 5
        assert common.config["lexical"]["exact"] is (
            budget > 1000 or common.config["lexical"]["proven"] == 100
        )
