"""A question in one language over documents in others: what shared words find, and what they must not decide."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import databases
from tests.support.corpus import put, record, rows
from tests.support.hashing import DIMENSION, HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Vectors
from veraz.nouns.evidence import Candidate, SearchResult
from veraz.nouns.question import Filters
from veraz.search.abroad import Whole, weighed
from veraz.search.fusion import METHODS, Fused, FusionSettings, fuse


async def fill(engine: AsyncVeraz, **texts: str) -> None:
    """`en_dose="…"`: one document each, in the language that its name begins with."""
    await put(
        engine, *(record(key, text, lang=key.partition("_")[0], title="") for key, text in texts.items())
    )


async def lexical(engine: AsyncVeraz, question: str, **options: object) -> SearchResult:
    return await engine.search(question, mode="lexical", trace=False, **options)  # type: ignore[arg-type]


def found(result: SearchResult) -> list[str]:
    return [hit.document.external_id for hit in result.hits]


# Which language a question is in


@pytest.mark.parametrize(
    ("question", "lang"),
    [
        ("¿Cuál es el tratamiento de la fiebre?", "es"),
        ("Quel est le traitement de la fièvre ?", "fr"),
        ("Qual è il trattamento della febbre?", "it"),
        ("Wie wird das Fieber behandelt?", "de"),
        ("How is a fever treated?", "en"),
        ("metformin eGFR 40", "en"),
        ("ICH in adults", "en"),
        ("ALS", "en"),
    ],
)
async def test_a_question_may_be_in_a_language_that_no_document_is_in(
    engine: AsyncVeraz, question: str, lang: str
) -> None:
    """Names and abbreviations are in the corpus's language."""
    await fill(engine, en_a="Fever is treated with fluids.")
    assert (await lexical(engine, question)).lang == lang


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuál es la causa de los vértigos?",
        "Quelle est la cause de ces vertiges ?",
        "Welche Ursache hat der Schwindel?",
    ],
)
async def test_function_words_of_the_question_are_no_content_in_the_documents_language(
    engine: AsyncVeraz, question: str
) -> None:
    await fill(
        engine,
        en_a="De Quervain syndrome, La Crosse virus, Los Angeles and a cul de sac.",
        en_b="Der, die and das are articles; hat is worn; est and ces are not English; qu'est-ce que c'est.",
    )
    assert found(await lexical(engine, question)) == []


async def test_a_compound_of_function_words_is_none_elsewhere(engine: AsyncVeraz) -> None:
    await fill(engine, en_a="She asked: est-ce grave?", en_b="Vertigo.")
    assert found(await lexical(engine, "Est-ce que la maladie est dans le sang ?")) == []


# What languages share


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("¿Qué dosis de metformina se recomienda?", "en_x: Metformin is taken with meals."),
        ("Quelle dose de metformine est recommandée ?", "en_x: Metformin is taken with meals."),
        ("Quale dose di insulina è necessaria?", "en_x: Insulin is injected."),
        ("¿Para qué sirve el ibuprofeno?", "en_x: Ibuprofen relieves pain."),
        ("Which dose of metformin is recommended?", "es_x: La metformina se toma con las comidas."),
        ("Which dose of metformin is recommended?", "fr_x: La metformine se prend pendant les repas."),
        ("Wie wird Insulin gespritzt?", "es_x: La insulina se inyecta."),
        ("¿Qué significa el error E-4021?", "en_x: Error code E4021 means that the pump is blocked."),
        ("¿Se puede dar 2,5 mg a un niño?", "en_x: Give 2.5 mg once."),
        ("Was sagt die Zulassung EU/1/20/1513/013?", "es_x: Autorización EU/1/20/1513/013."),
        ("¿Quién describió el síndrome de Sjögren?", "en_x: Sjogren described it in 1933."),
    ],
)
async def test_names_identifiers_and_figures_match_in_any_language(
    engine: AsyncVeraz, question: str, text: str
) -> None:
    key, _, body = text.partition(": ")
    await fill(engine, **{key: body}, en_other="Wash your hands.", es_other="Lávese las manos.")
    assert found(await lexical(engine, question))[:1] == ["en_x" if key == "en_x" else key]


async def test_a_short_stem_is_another_word_elsewhere(engine: AsyncVeraz) -> None:
    """mano, casa and pasta have the stems man, cas and past in Spanish."""
    await fill(engine, en_a="A man with a past.", en_b="Case reports of a man.")
    assert found(await lexical(engine, "¿Por qué me duele la mano en casa después de la pasta?")) == []


# What must not decide


def near(**similarities: float) -> HashingEmbedder:
    """Texts that begin with a key have this cosine with every question."""
    axes = {key: n + 1 for n, key in enumerate(similarities)}

    def place(text: str) -> Vectors:
        vector = np.zeros(DIMENSION, np.float32)
        key = next((k for k in similarities if k in text), None)
        if key is None:
            vector[0] = 1
        else:
            vector[0] = similarities[key]
            vector[axes[key]] = np.sqrt(1 - similarities[key] ** 2)
        return vector

    return HashingEmbedder(place=place)


async def test_a_word_that_means_something_else_does_not_decide(database: str) -> None:
    """All that a Spanish question shares with these is `red`, a network, or a colour."""
    embedder = near(Support=0.9, Colours=0.75, Others=0.74, Last=0.6)
    async with await databases.open_engine(database, embedder) as engine:
        await fill(
            engine,
            en_support="Support by relatives and friends helps after a stroke.",
            en_colours="Colours: red.",
            en_others="Others walk a little every day.",
            en_last="Last, keep the receipt.",
        )
        question = "¿Cómo ayuda la red de familiares después de un ictus?"
        result = await engine.search(question, explain=True, trace=False)
        assert found(result) == ["en_support", "en_colours", "en_others", "en_last"]
        shared = result.hits[1]
        assert shared.lexical is not None
        assert shared.lexical.rank == 1, "it was found by its word, which counts little"
        assert shared.explain is not None
        arm = shared.explain["arms"]["lexical"]
        assert 0 < arm["share"] < 0.7
        assert arm["part"] == pytest.approx(arm["weight"] * arm["share"])
        assert "share" not in shared.explain["arms"]["semantic"]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_share_is_a_factor_of_what_the_arm_adds(method: str) -> None:
    def fused(share: float) -> Fused:
        lexical = [Candidate(UUID(int=1), 3.0, 3, None, share), Candidate(UUID(int=2), 2.0, 3, None)]
        semantic = [Candidate(UUID(int=1), 0.9, 3, None), Candidate(UUID(int=2), 0.8, 3, None)]
        entries = fuse({"lexical": lexical, "semantic": semantic}, FusionSettings(method, 0.6, 60))
        return next(entry for entry in entries if entry.chunk_id == UUID(int=1))

    whole, tenth = fused(1.0), fused(0.1)
    assert tenth.parts["lexical"] == pytest.approx(0.1 * whole.parts["lexical"])
    assert tenth.parts["semantic"] == whole.parts["semantic"]
    assert (whole.shares, tenth.shares) == ({}, {"lexical": 0.1})


def test_shares_and_scores_by_hand() -> None:
    """Five of twenty are a quarter of the question, whose root is a half, on a scale half as long."""
    ids = [UUID(int=n) for n in range(4)]
    scores = (5.0, 30.0, 2.0, 5.0)
    given = [Candidate(key, score, 3, None) for key, score in zip(ids, scores, strict=True)]
    there, alone = Whole(20.0, 4.0, 2.0), Whole(20.0, 4.0, None)
    whole = {ids[0]: there, ids[1]: there, ids[2]: Whole(0.0, 4.0, 2.0), ids[3]: alone}
    found = weighed(given, whole)
    assert {one.chunk_id: (one.score, one.share) for one in found} == {
        ids[0]: (2.5, 0.5),
        ids[1]: (15.0, 1.0),
        ids[2]: (1.0, 0.0),
        ids[3]: (5.0, 0.5),
    }
    assert [one.chunk_id for one in found] == [ids[1], ids[3], ids[0], ids[2]]
    own = Candidate(UUID(int=9), 3.0, 3, None)
    beside = weighed([*given, own], whole)
    assert [(one.chunk_id, one.score) for one in beside if one != own] == [
        (c.chunk_id, c.score) for c in found
    ]
    assert own in beside
    assert {one.share for one in beside} == {1.0}
    assert weighed([own], {}) == [own]


async def test_a_name_alone_counts_as_it_does_in_one_language(database: str) -> None:
    """Nothing else is asked: the passage that has the name comes first, whatever the vectors say."""
    embedder = near(Take=0.85, Wash=0.9, Rest=0.5)
    async with await databases.open_engine(database, embedder) as engine:
        await fill(
            engine, en_dose="Take metformin with a meal.", en_wash="Wash your hands.", en_rest="Rest a while."
        )
        result = await engine.search("¿Y la metformina?", trace=False)
        assert (result.lang, found(result)[0]) == ("es", "en_dose")


async def test_the_larger_language_does_not_crowd_out_the_questions_own(engine: AsyncVeraz) -> None:
    """A word weighs by its rarity among the chunks of its language: with three Spanish and sixty English ones, one English word
    would outweigh a whole Spanish answer."""
    await fill(
        engine,
        es_a="El hospital trata la amiloidosis cardiaca.",
        es_b="El hospital abre a las ocho.",
        es_c="Lávese las manos.",
        en_h="The hospital opens at eight.",
        **{f"en_{n}": f"Leaflet {n} about something else." for n in range(60)},
    )
    result = await lexical(engine, "¿Qué hospital trata la amiloidosis?")
    assert found(result)[0] == "es_a"


async def test_a_word_of_another_language_is_no_slip(engine: AsyncVeraz) -> None:
    await fill(engine, en_a="Fibre helps.", en_b="A figure of speech.")
    result = await lexical(engine, "¿Qué hago si tengo fiebre?")
    assert (found(result), result.spellings) == ([], {})
    assert (await lexical(engine, "What about fibrre?")).spellings == {"fibrre": "fibre"}


# Each chunk by its own language


async def test_each_chunk_is_read_by_its_own_language(engine: AsyncVeraz) -> None:
    await fill(
        engine,
        en_run="She was running.",
        es_tablets="Tomó dos comprimidos.",
        fr_tablets="Prendre deux comprimés.",
        en_son="Her son came.",
        es_son="Las causas son conocidas.",
    )
    assert found(await lexical(engine, "Who runs?")) == ["en_run"]
    assert found(await lexical(engine, "¿Quién los tomaba?")) == ["es_tablets"]
    assert set(found(await lexical(engine, "¿Qué comprimido es?"))) == {"es_tablets", "fr_tablets"}
    assert found(await lexical(engine, "Where is my son?")) == ["en_son"], "a Spanish function word"


async def test_the_questions_language_filters_nothing_and_filters_do(engine: AsyncVeraz) -> None:
    await fill(engine, en_a="Metformin with meals.", es_a="Metformina con la comida.")
    question = "¿Qué dosis de metformina se recomienda?"
    for lang in ("auto", "any", "es"):
        assert set(found(await lexical(engine, question, lang=lang))) == {"en_a", "es_a"}
    assert found(await lexical(engine, question, filters=Filters(langs=("en",)))) == ["en_a"]


# What stays as it is


async def test_scores_within_one_language_are_plain(engine: AsyncVeraz) -> None:
    """No chunk of the question's language is touched by what others there are."""
    await fill(engine, en_a="Metformin with meals.", en_b="Insulin before meals.")
    alone = await lexical(engine, "Is metformin taken with meals?")
    await fill(engine, es_a="Metformina con la comida.")
    beside = await lexical(engine, "Is metformin taken with meals?")
    scores = {h.document.external_id: h.score for h in alone.hits}
    assert {h.document.external_id: h.lexical and h.lexical.score for h in alone.hits} == {
        h.document.external_id: h.lexical and h.lexical.score
        for h in beside.hits
        if h.document.external_id in scores
    }


async def test_terms_of_the_questions_own_analyser_have_no_other_stems(engine: AsyncVeraz) -> None:
    await fill(engine, en_a="Metformin.", es_a="Metformina.")
    terms = await rows(
        engine, "select analyser, lexeme, weight from veraz.query_terms('la metformina', 'es') order by 1, 2"
    )
    assert terms == [("en", "metformin", 1.0), ("en", "metformina", 1.0), ("es", "metformin", 1.0)]


@pytest.mark.parametrize("scorer", ["bm25", "ts_rank_cd"])
async def test_both_scorers_weigh_other_languages(engine: AsyncVeraz, scorer: str) -> None:
    engine.config = replace(engine.config, search=replace(engine.config.search, scorer=scorer))
    await fill(
        engine,
        es_a="El hospital trata la amiloidosis.",
        en_h="The hospital opens at eight.",
        **{f"en_{n}": f"Leaflet {n}." for n in range(30)},
    )
    result = await lexical(engine, "¿Qué hospital trata la amiloidosis?")
    assert found(result) == ["es_a", "en_h"]
    assert result.hits[1].lexical is not None
    assert result.hits[0].lexical is not None
    assert result.hits[1].lexical.score < result.hits[0].lexical.score
