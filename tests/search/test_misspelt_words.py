"""Words that nothing readable holds are read as those that a slip explains, and nothing is learned of what is hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import databases
from tests.support.corpus import Words, put, record, rows
from tests.support.lookalikes import COLLECTIONS

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult
from veraz.nouns.question import Filters
from veraz.search.misspelt import (
    TOO_MANY,
    Known,
    Similar,
    chosen,
    distance,
    plausible,
    respelt,
    unnoticed,
    words,
)

PAIRS = {
    ("metformin", "metformin"): 0,
    ("metfromin", "metformin"): 1,
    ("metformn", "metformin"): 1,
    ("metforrmin", "metformin"): 1,
    ("netformin", "metformin"): 1,
    ("acetominophin", "acetaminophen"): 2,
    ("", "abc"): 3,
    ("ca", "abc"): 3,
    ("prednisone", "prednisolone"): 2,
}


@pytest.mark.parametrize("pair", PAIRS)
def test_slips_are_counted(pair: tuple[str, str]) -> None:
    assert distance(*pair) == distance(*reversed(pair)) == PAIRS[pair]


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_a_distance_lies_between_the_lengths_difference_and_the_longer_one(a: str, b: str) -> None:
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))
    assert (distance(a, b) == 0) == (a == b)


READ = [
    ("metfromin", "metformin"),
    ("acetominophin", "acetaminophen"),
    ("diabetis", "diabetes"),
    ("feverr", "fever"),
    ("netformin", "metformin"),  # one slip in the first letter of a long word
    ("amoxycilin", "amoxicillin"),  # two that sound alike
    ("ammoxicilin", "amoxicillin"),
    ("metfromyn", "metformin"),
    ("adbomen", "abdomen"),
    ("ypothyroidism", "hypothyroidism"),
    ("hypotyroidism", "hypothyroidism"),
    ("hyperthyriodism", "hyperthyroidism"),
]
NOT_READ = [
    ("prednisone", "prednisolone"),  # other medicines, not slips
    ("quinine", "quinidine"),
    ("losartan", "valsartan"),
    ("hydralazine", "hydroxyzine"),
    ("dopamine", "dobutamine"),
    ("lansoprazole", "pantoprazole"),  # two slips, one of them in the first letter
    ("dexamethasone", "betamethasone"),
    ("clonazepam", "lorazepam"),
    ("osteoporosis", "osteopetrosis"),  # two slips that nobody makes unnoticed
    ("silicosis", "sialidosis"),
    ("pravastatin", "pitavastatin"),
    ("hypothyroidism", "hyperthyroidism"),
    ("hipoglucemia", "hiperglucemia"),
    ("macrocytic", "microcytic"),  # opposites
    ("antepartum", "antipartum"),
    ("abduction", "adduction"),
    ("cat", "car"),  # too short
    ("fever", "lever beaver"),  # the first letter stands
    ("zebra", "cobra"),  # two slips in a short word
]


@pytest.mark.parametrize(
    ("asked", "known", "is_read"), [(*p, True) for p in READ] + [(*p, False) for p in NOT_READ]
)
def test_only_a_slip_is_read_as_another_word(asked: str, known: str, is_read: bool) -> None:
    found = plausible([Similar(asked, asked, "en", lexeme, 0.5) for lexeme in known.split()])
    assert bool(found) is is_read


@pytest.mark.parametrize("pair", [p for c in COLLECTIONS.values() for p in c.pairs], ids=str)
def test_no_name_of_a_pair_that_looks_alike_is_read_as_the_other(pair: tuple[str, str]) -> None:
    for asked, known in (pair, pair[::-1]):
        assert plausible([Similar(asked, asked, "en", known, 0.5)]) == []


@given(st.text("abety", max_size=7), st.text("abety", max_size=7))
def test_slips_that_nobody_notices_are_slips(a: str, b: str) -> None:
    assert unnoticed(a, b) == unnoticed(b, a) >= distance(a, b) or unnoticed(a, b) == TOO_MANY


def test_the_nearest_comes_first() -> None:
    given_ = [
        Similar("fevre", "fevre", "en", lexeme, s)
        for lexeme, s in (("fevres", 0.9), ("fever", 0.4), ("fevra", 0.5))
    ]
    assert [s.lexeme for s in plausible(given_)] == ["fevres", "fevra", "fever"]


def test_of_equally_near_words_the_one_that_more_passages_hold_is_read() -> None:
    """Documents have slips too."""
    likely = plausible([Similar("symptms", "symptm", "en", lexeme, 0.5) for lexeme in ("sympotm", "symptom")])
    readable = {("en", "sympotm"): Known("sympotms", 1), ("en", "symptom"): Known("symptoms", 30)}
    assert chosen(likely, readable) == {"symptms": "symptoms"}
    readable["en", "symptom"] = Known("symptomless", 30)  # farther as it is written
    assert chosen(likely, readable) == {"symptms": "sympotms"}


async def test_a_slip_of_the_documents_is_not_what_a_slip_was_meant_to_be(engine: AsyncVeraz) -> None:
    await put(engine, *(record(f"s{n}", f"Symptoms of kind {n}.", title="S") for n in range(3)))
    await put(engine, record("slip", "Sympotms of one kind.", title="S"))
    await engine.merge_index()
    found = await ask(engine, "symptms")
    assert found.spellings == {"symptms": "symptoms"}
    assert sorted(ids(found)) == ["s0", "s1", "s2"]


def test_words_are_letters_alone() -> None:
    assert words("What's metfromin-based E4021 fever's HbA1c fièvre, fièvre of 20mg?") == ["fièvre"]
    assert respelt("metfromin, metfromin-like Metfromin", {"metfromin": "metformin"}) == (
        "metformin, metfromin-like Metfromin"
    )


def ids(result: SearchResult) -> list[str]:
    return [h.document.external_id for h in result.hits]


async def ask(engine: AsyncVeraz, question: str, mode: Any = "lexical", **asked: Any) -> SearchResult:
    return await engine.search(question, lang="en", mode=mode, trace=False, **asked)


NOTE = "no passage that may be read has these words, so the lexical arm read “metfromin” as “metformin”"


async def filled(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("a", "Metformin lowers glucose in diabetes.", title="One"),
        record("b", "Insulin lowers glucose.", title="Two"),
    )
    await engine.merge_index()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("question", ["metfromin", "how does metfromin help"])
async def test_a_misspelt_name_is_found_and_said(engine: AsyncVeraz, mode: str, question: str) -> None:
    await filled(engine)
    found = await ask(engine, question, mode)
    assert ids(found)[0] == "a"
    assert found.hits[0].lexical is not None
    assert found.notes == (NOTE,)
    assert found.spellings == {"metfromin": "metformin"}


async def test_a_word_that_stands_beside_known_ones_is_found_as_well(engine: AsyncVeraz) -> None:
    await filled(engine)
    assert ids(await ask(engine, "does metfromin lower glucose")) == ["a", "b"]
    assert ids(await ask(engine, "what lowers glucose in diabetis"))[0] == "a"


async def test_where_every_word_is_known_nothing_is_looked_up(engine: AsyncVeraz) -> None:
    await filled(engine)
    for question in (
        "metformin glucose",
        "how does metformin help in diabetes?",
        "E-4021",
        '"metfromin"',
        "aaa bbb",
    ):
        found = await ask(engine, question)
        assert "spelling" not in found.timings_ms or found.spellings == {}, question
        assert not [n for n in found.notes if "read “" in n]
    assert "spelling" not in (await ask(engine, "metformin lowers glucose")).timings_ms


async def test_it_can_be_turned_off(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    async with await databases.open_engine(database, search=SearchConfig(fuzzy=False)) as plain:
        assert ids(await ask(plain, "metfromin")) == []


@pytest.mark.parametrize("filters", [Filters(sources=("other",)), Filters(where="source = 'other'")])
async def test_the_words_found_meet_the_filters(engine: AsyncVeraz, filters: Filters) -> None:
    await filled(engine)
    await put(engine, record("c", "Something else.", title="Three"), source="other")
    found = await ask(engine, "metfromin", filters=filters)
    assert found.spellings == {}
    assert ids(found) == []


async def test_a_filtered_question_is_read_as_its_known_words_too(engine: AsyncVeraz) -> None:
    await filled(engine)
    found = await ask(engine, "metfromin", filters=Filters(where="title = 'One'"))
    assert (ids(found), found.spellings) == (["a"], {"metfromin": "metformin"})


async def test_a_known_word_is_not_read_as_another_because_of_a_filter(engine: AsyncVeraz) -> None:
    await filled(engine)
    await put(engine, record("c", "Metformine is its French name.", title="Three"), source="other")
    await engine.merge_index()
    found = await ask(engine, "metformin", filters=Filters(sources=("other",)))
    assert found.spellings == {}


SECRETS = (
    record("s1", "Zephyrus begins in May.", title="S1", acl=["secret"]),
    record("s2", "Zephyrus and metformim and glucosa.", title="S2", acl=["secret"]),
)
QUESTIONS = (
    "zephyrus",
    "zephyros",
    "zephyrs",
    "metformim",
    "metfromin",
    "glucosa",
    "begins in May",
    "zephyr glucose",
)


async def test_what_is_hidden_neither_is_suggested_nor_keeps_a_word_from_being_misspelt(
    server: str, template: str
) -> None:
    """With the hidden documents and without, a reader is told the same: by hits, by notes, by what was read."""
    seen = []
    for hidden in ((), SECRETS):
        with databases.fresh(server, template) as url:
            async with await databases.open_engine(url) as own:
                await put(own, record("z", "Zephyr is a wind.", title="Z"))
                await filled(own)
                await put(own, *hidden)
                await own.merge_index()
                seen.append([(ids(r), r.notes, r.spellings) for r in [await ask(own, q) for q in QUESTIONS]])
                if hidden:
                    insider = own.acting_as(replace(await own.identity(), roles=("public", "secret")))
                    assert sorted(ids(await ask(insider, "zephyros"))) == ["s1", "s2"]
                    assert (await ask(insider, "zephyrus")).spellings == {}
    assert seen[0] == seen[1]
    assert dict(zip(QUESTIONS, [s for _, _, s in seen[1]], strict=True))["metfromin"] == {
        "metfromin": "metformin"
    }


async def test_another_tenants_words_are_not_read(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    admin = engine
    other = admin.acting_as(replace(await admin.identity(), tenant="default"))
    assert ids(await ask(other, "metfromin")) == ["a"]
    async with await databases.open_engine(database, tenant="other") as stranger:
        await stranger.init()
        await put(stranger, record("x", "Nothing of that kind.", title="X"))
        await stranger.merge_index()
        found = await ask(stranger, "metfromin")
        assert (ids(found), found.spellings) == ([], {})


async def test_a_trace_keeps_no_word_of_a_document(engine: AsyncVeraz) -> None:
    await filled(engine)
    found = await engine.search("metfromin", lang="en", mode="lexical")
    assert found.notes == (NOTE,)
    kept = await rows(engine, "select record::text from veraz.trace")
    assert len(kept) == 1
    assert "metformin" not in kept[0][0].lower()


async def test_without_the_extension_the_arm_is_off(engine: AsyncVeraz, database: str) -> None:
    await filled(engine)
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("drop extension pg_trgm")
    async with await databases.open_engine(database) as plain:
        found = await ask(plain, "metfromin glucose")
        assert ids(found) == ["a", "b"] or ids(found) == ["b", "a"]
        assert found.spellings == {}


async def test_a_large_vocabulary_is_searched(engine: AsyncVeraz) -> None:
    made = Words(3, 2000)
    await put(engine, *made.records(40, sections=5, sentences=4))
    await engine.merge_index()
    missed, tried = 0, 0
    for word in [w for w in made.vocabulary[:200] if len(w) >= 7][:40]:
        if not (await ask(engine, word)).hits:
            continue
        slip = word[:3] + word[4] + word[3] + word[5:]
        found = await ask(engine, slip)
        tried += 1
        missed += slip != word and not found.hits
    assert tried > 20
    assert missed <= tried / 20, "only where the slip changes what the stemmer takes for an ending"
