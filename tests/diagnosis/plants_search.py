"""Faults of searching and answering: pools, budgets, the approximate index, fusion, copies, k, the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.diagnosis.planting import (
    SOURCE,
    TOPICS,
    Planted,
    Topic,
    bystanders,
    document,
    own_tenant,
    placing,
    plant,
    repeating,
    rivals,
)
from tests.support.corpus import put, record
from tests.support.reranking import scoring

from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Access
from veraz.nouns.question import Filters

SEARCH = {"verb": "search"}


def steps(places: range, *, word: str = "") -> list[dict[str, Any]]:
    """Passages in a row of nearness to `semq`, none of which shares a word with another."""
    return [record(f"step-{n}", f"{word} sem{n} alpha{n} beta{n}") for n in places]


def counts(most: int, *, word: str = "zinc") -> list[dict[str, Any]]:
    """Passages that say a word once, twice, … among twelve words: the more often, the better."""
    made = []
    for n in range(1, most + 1):
        words = " ".join([word] * n + [f"filler{n}x{i}" for i in range(max(0, 24 - n))])
        made.append(record(f"count-{n}", words))
    return made


# --- not in the lexical pool

for _pool, _rank in ((3, 8), (5, 12), (8, 20)):

    @plant("not in the lexical pool", f"rank {_rank} of a pool of {_pool}")
    async def _deep(engine: AsyncVeraz, _: Path, pool: int = _pool, rank: int = _rank) -> Planted:
        own = await own_tenant(engine, search={"pool": pool})
        await put(own, *counts(rank), source=SOURCE)
        given = {**SEARCH, "mode": "lexical", "k": pool}
        return Planted(own, "zinc", "count-1", "not_in_lexical_pool", given)


for _topic, _question in (
    (TOPICS[0], "earache remedy duration"),
    (TOPICS[1], "shelf life hormone syringe"),
    (TOPICS[3], "insolación remedios caseros"),
    (TOPICS[6], "Holzbock Stich Kontrolle"),
):

    @plant("not in the lexical pool", f"no word in common, {_topic.title}")
    async def _paraphrase(
        engine: AsyncVeraz, _: Path, topic: Topic = _topic, question: str = _question
    ) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *bystanders(topic), source=SOURCE)
        given = {**SEARCH, "mode": "lexical"}
        return Planted(own, question, "wanted", "not_in_lexical_pool", given, cause="words")


for _question, _text, _lang, _wrong in (
    ("sin", "Sin is an old word for a fault.", "en", "es"),
    ("die", "Many die of sepsis each year.", "en", "de"),
    ("hat", "The hat protects against the sun.", "en", "de"),
    ("man", "A man of forty was treated.", "en", "de"),
    ("also", "Also sprach der Arzt.", "de", "de"),
    ("for", "The letters for mean nothing here.", "en", "en"),
):

    @plant("not in the lexical pool", f"the analyser of {_wrong} drops the word {_question!r} of {_lang}")
    async def _stopped(
        engine: AsyncVeraz,
        _: Path,
        question: str = _question,
        text: str = _text,
        lang: str = _lang,
        wrong: str = _wrong,
    ) -> Planted:
        own = await own_tenant(engine)
        text = text if lang != wrong else f"{text} Xenon."
        await put(own, record("wanted", text, lang="xx" if lang == wrong else lang), source=SOURCE)
        await put(own, *bystanders(TOPICS[2]), source=SOURCE)
        given = {**SEARCH, "mode": "lexical", "lang": wrong}
        return Planted(own, question, "wanted", "not_in_lexical_pool", given, cause="language")


for _asked, _fuzzy in (("lewotyroksyna", True), ("levotiroxine", False)):

    @plant("not in the lexical pool", f"{_asked} for levothyroxine, slips {'' if _fuzzy else 'not '}mended")
    async def _misspelt(engine: AsyncVeraz, _: Path, asked: str = _asked, fuzzy: bool = _fuzzy) -> Planted:
        own = await own_tenant(engine, search={"fuzzy": fuzzy})
        await put(own, record("wanted", "Levothyroxine is taken before breakfast."), source=SOURCE)
        given = {**SEARCH, "mode": "lexical"}
        return Planted(own, asked, "wanted", "not_in_lexical_pool", given, cause="words")


@plant("not in the lexical pool", "nor in the semantic one: both arms are asked")
async def _neither(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, search={"pool": 4}, embedder=placing())
    await put(own, *steps(range(1, 10)), source=SOURCE)
    return Planted(own, "semq", "step-9", "not_in_lexical_pool", {**SEARCH, "k": 4})


# --- truncated by the budget


for _rare, _common, _k in ((12, 15, 2), (14, 18, 1), (20, 26, 3), (16, 20, 5)):

    @plant("truncated by the budget", f"{_rare} rare postings, {_common} of each other word, k {_k}")
    async def _budgeted(
        engine: AsyncVeraz, _: Path, rarely: int = _rare, common: int = _common, k: int = _k
    ) -> Planted:
        """The rare word's postings use the budget up; the passage that says all the others is left out."""
        own = await own_tenant(engine, search={"budget": rarely - 1, "pool": 10})
        crowd = [record(f"r{n}", f"osmium of matter{n}") for n in range(rarely)]
        for word in ("zinc", "copper", "nickel"):
            crowd += [record(f"{word[0]}{n}", f"{word} of thing{n}") for n in range(common)]
        await put(own, *crowd, record("wanted", "zinc copper nickel"), source=SOURCE)
        await own.merge_index()
        given = {**SEARCH, "mode": "lexical", "k": k}
        return Planted(own, "osmium zinc copper nickel", "wanted", "truncated_by_budget", given)


# --- not in the semantic pool

for _pool, _rank in ((3, 5), (5, 9), (8, 30), (10, 18)):

    @plant("not in the semantic pool", f"rank {_rank} of a pool of {_pool}")
    async def _far(engine: AsyncVeraz, _: Path, pool: int = _pool, rank: int = _rank) -> Planted:
        own = await own_tenant(engine, search={"pool": pool}, embedder=placing())
        await put(own, *steps(range(1, 34)), source=SOURCE)
        given = {**SEARCH, "mode": "semantic", "k": pool}
        return Planted(own, "semq", f"step-{rank}", "not_in_semantic_pool", given)


for _topic in (TOPICS[0], TOPICS[3], TOPICS[5]):

    @plant("not in the semantic pool", f"rivals are nearer, {_topic.title}")
    async def _nearer(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine, search={"pool": 4})
        await put(own, document(topic), *rivals(topic, 9), source=SOURCE)
        given = {**SEARCH, "mode": "semantic", "k": 4}
        return Planted(own, topic.question, "wanted", "not_in_semantic_pool", given)


# --- lost in fusion

for _weight, _mode_of_rank in ((0.95, "lexical"), (0.05, "semantic"), (0.9, "lexical"), (0.1, "semantic")):
    for _k in (2, 3):

        @plant("lost in fusion", f"first in the {_mode_of_rank} arm, weight {_weight}, k {_k}")
        async def _outweighed(
            engine: AsyncVeraz, _: Path, weight: float = _weight, arm: str = _mode_of_rank, k: int = _k
        ) -> Planted:
            """One arm has it first, the other not at all."""
            own = await own_tenant(engine, search={"semantic_weight": weight, "pool": 12}, embedder=placing())
            if arm == "lexical":
                await put(own, *steps(range(1, 13)), source=SOURCE)
                await put(own, record("wanted", "osmium sem300"), *rare(4), source=SOURCE)
            else:
                await put(own, *counts(12, word="osmium"), source=SOURCE)
                await put(own, record("wanted", "sem1 nothing of it"), *steps(range(40, 54)), source=SOURCE)
            return Planted(own, "semq osmium", "wanted", "lost_in_fusion", {**SEARCH, "k": k})


def rare(count: int) -> list[dict[str, Any]]:
    return [record(f"rare-{n}", f"osmium sem{310 + n} and other words word{n} besides") for n in range(count)]


# --- lost in reranking

for _mode, _k, _configured in (
    ("lexical", 2, False),
    ("lexical", 3, True),
    ("semantic", 2, True),
    ("hybrid", 4, False),
):

    @plant("lost in reranking", f"{_mode}, k {_k}, {'configured' if _configured else 'asked'}")
    async def _pushed_down(
        engine: AsyncVeraz, _: Path, mode: str = _mode, k: int = _k, configured: bool = _configured
    ) -> Planted:
        """The best passage of all, which the reranker likes least."""
        search = {"rerank_pool": 8, **({"rerank": "cohere"} if configured else {})}
        own = await own_tenant(
            engine,
            embedder=placing(),
            search=search,
            reranker=scoring(
                lambda passage: -1.0 if passage.startswith(("count-9\n", "step-1\n")) else float(len(passage))
            ),
        )
        await put(own, *(counts(9) if mode == "lexical" else steps(range(1, 15))), source=SOURCE)
        given = {**SEARCH, "mode": mode, "k": k, **({} if configured else {"rerank": "cohere"})}
        wanted = "count-9" if mode == "lexical" else "step-1"
        question = "zinc" if mode == "lexical" else "semq"
        return Planted(own, question, wanted, "lost_in_rerank", given, cause="cohere")


# --- folded

for _topic in (TOPICS[0], TOPICS[2], TOPICS[3], TOPICS[5]):

    @plant("folded", f"another source says the same, {_topic.title}")
    async def _copied(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *bystanders(topic), source=SOURCE, authority=2)
        copy = {**document(topic), "id": "copy", "title": topic.question}
        await put(own, copy, source="copies", authority=5)
        return Planted(own, topic.question, "wanted", "folded", dict(SEARCH))

    @plant("folded", f"another document of the source says the same, {_topic.title}")
    async def _copied_inside(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        copy = {**document(topic), "id": "copy", "title": topic.question}
        await put(own, {**document(topic), "title": "Notes"}, copy, *bystanders(topic), source=SOURCE)
        return Planted(own, topic.question, "wanted", "folded", dict(SEARCH))


# --- cut by k

for _mode, _k, _rank in (
    ("lexical", 3, 9), ("lexical", 5, 6), ("lexical", 1, 2), ("semantic", 3, 4), ("semantic", 5, 20), ("semantic", 1, 2),
):  # fmt: skip

    @plant("cut by k", f"{_mode}, k {_k}, rank {_rank}")
    async def _cut(engine: AsyncVeraz, _: Path, mode: str = _mode, k: int = _k, rank: int = _rank) -> Planted:
        own = await own_tenant(engine, embedder=placing())
        await put(own, *(counts(rank) if mode == "lexical" else steps(range(1, 25))), source=SOURCE)
        wanted = "count-1" if mode == "lexical" else f"step-{rank}"
        question = "zinc" if mode == "lexical" else "semq"
        return Planted(own, question, wanted, "cut_by_k", {**SEARCH, "mode": mode, "k": k})


for _topic in (TOPICS[0], TOPICS[3], TOPICS[5], TOPICS[6]):

    @plant("cut by k", f"fifteen rivals come first, {_topic.title}")
    async def _behind(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *rivals(topic, 15), source=SOURCE)
        return Planted(own, topic.question, "wanted", "cut_by_k", dict(SEARCH))


# --- the answer

for _topic in (TOPICS[0], TOPICS[1], TOPICS[3], TOPICS[4], TOPICS[5]):

    @plant("under the threshold", f"the highest there is, {_topic.title}")
    async def _strict(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine, answer={"threshold": 1.0})
        await put(own, document(topic), *bystanders(topic), source=SOURCE)
        return Planted(own, topic.question, "wanted", "under_threshold", {"verb": "ask"})


@plant("under the threshold", "an identifier that no passage names")
async def _identifier(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, record("wanted", "The pump shows an error code when the tube is blocked."), source=SOURCE)
    question = "What does the error code E-9174 of the pump mean when the tube is blocked?"
    return Planted(own, question, "wanted", "under_threshold", {"verb": "ask"})


for _evidence, _rivals in ((1, 3), (2, 5), (3, 6)):

    @plant("cut by the answer's budget", f"evidence {_evidence}")
    async def _thin(engine: AsyncVeraz, _: Path, evidence: int = _evidence, others: int = _rivals) -> Planted:
        own = await own_tenant(engine, answer={"evidence": evidence, "threshold": 0.0, "documents": 20})
        topic = TOPICS[0]
        await put(own, document(topic), *rivals(topic, others), source=SOURCE)
        return Planted(own, topic.question, "wanted", "cut_by_answer_budget", {"verb": "ask"})


for _sentences, _documents in ((1, 4), (8, 1), (2, 1)):

    @plant("not selected", f"at most {_sentences} sentences of {_documents} documents")
    async def _unselected(
        engine: AsyncVeraz, _: Path, sentences: int = _sentences, documents: int = _documents
    ) -> Planted:
        own = await own_tenant(
            engine, answer={"sentences": sentences, "documents": documents, "threshold": 0.0}
        )
        best = record(
            "best", "Opened insulin pens keep for four weeks at room temperature.", title="Insulin pens"
        )
        wanted = record("wanted", "Insulin pens that were opened keep less long in a hot car.", title="Cars")
        await put(own, best, wanted, *bystanders(TOPICS[1]), source=SOURCE)
        question = "How long do opened insulin pens keep at room temperature?"
        return Planted(own, question, "wanted", "not_selected", {"verb": "ask"})


# --- two faults at once: the first stage is named, and the second once the first is mended


def pair(name: str) -> Any:
    return plant("two at once", name)


@pair("deleted, and a filter excludes it")
async def _deleted_filtered(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[0]), *bystanders(TOPICS[0]), source=SOURCE)
    await own.delete("wanted", source=SOURCE)
    given = {**SEARCH, "filters": Filters(langs=("fr",))}
    return Planted(own, TOPICS[0].question, "wanted", "deleted", given, then=("filtered",))


@pair("replaced, and deleted")
async def _replaced_deleted(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[1]), *bystanders(TOPICS[1]), source=SOURCE)
    await own.supersede("wanted", by="other-1", source=SOURCE)
    await own.delete("wanted", source=SOURCE)
    return Planted(own, TOPICS[1].question, "wanted", "not_current", dict(SEARCH), then=("deleted",))


@pair("a filter excludes it, and its label too")
async def _filtered_locked(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[3]), *bystanders(TOPICS[3]), source=SOURCE)
    await own.set_access("wanted", source=SOURCE, access=Access(("hr",)))
    given = {**SEARCH, "filters": Filters(authority=5)}
    return Planted(own, TOPICS[3].question, "wanted", "filtered", given, then=("not_permitted",))


@pair("its label excludes it, and k cuts it")
async def _locked_behind(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[0]), *rivals(TOPICS[0], 15), source=SOURCE)
    await own.set_access("wanted", source=SOURCE, access=Access(("hr",)))
    return Planted(own, TOPICS[0].question, "wanted", "not_permitted", dict(SEARCH), then=("cut_by_k",))


@pair("never ingested, and an emergency")
async def _absent_routed(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    question = "My father has crushing chest pain and can't breathe"
    await put(own, *bystanders(TOPICS[0]), source=SOURCE)
    again = repeating(own, [record("wanted", "Crushing chest pain of a father who can't breathe: call.")])
    given = {"verb": "ask"}
    return Planted(own, question, "wanted", "never_ingested", given, then=("routed",), again=again)


@pair("cut in two, and a filter excludes it")
async def _cut_filtered(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[0]
    fact = f"{topic.fact} {topic.others[0]} {topic.others[1]}"
    wanted = record("wanted", fact, lang="en")
    await put(own, wanted, *bystanders(topic), source=SOURCE, chunker="fixed:size=12,overlap=0")
    given = {**SEARCH, "fact": fact, "filters": Filters(langs=("fr",))}
    again = repeating(own, [wanted])
    return Planted(own, topic.question, "wanted", "cut", given, then=("filtered",), again=again, needle=fact)


@pair("a filter excludes it, and the answer is refused")
async def _filtered_refused(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, answer={"threshold": 1.0})
    await put(own, document(TOPICS[1]), *bystanders(TOPICS[1]), source=SOURCE)
    given = {"verb": "ask", "filters": Filters(langs=("fr",))}
    return Planted(own, TOPICS[1].question, "wanted", "filtered", given, then=("under_threshold",))


@pair("k cuts it, and the answer is refused")
async def _behind_refused(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, answer={"threshold": 1.0, "documents": 30, "sentences": 30})
    await put(own, document(TOPICS[0]), *rivals(TOPICS[0], 15), source=SOURCE)
    return Planted(
        own,
        TOPICS[0].question,
        "wanted",
        "cut_by_k",
        {"verb": "ask"},
        then=("under_threshold", "not_selected"),
    )


@pair("another day is asked for, and a filter excludes it")
async def _day_filtered(engine: AsyncVeraz, _: Path) -> Planted:
    from datetime import date

    own = await own_tenant(engine)
    await put(own, document(TOPICS[4], valid_from="2024-09-01"), *bystanders(TOPICS[4]), source=SOURCE)
    given = {**SEARCH, "as_of": date(2024, 6, 1), "filters": Filters(jurisdictions=("FR",))}
    return Planted(own, TOPICS[4].question, "wanted", "not_current", given, then=("filtered",))


@pair("its label excludes it, and another document says the same")
async def _locked_folded(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[0]
    copy = {**document(topic), "id": "copy", "title": topic.question}
    await put(own, {**document(topic), "title": "Notes"}, *bystanders(topic), source=SOURCE)
    await put(own, copy, source="copies", authority=5)
    await own.set_access("wanted", source=SOURCE, access=Access(("hr",)))
    return Planted(own, topic.question, "wanted", "not_permitted", dict(SEARCH), then=("folded",))


@pair("the pool is too small, and a filter excludes it")
async def _filtered_deep(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, search={"pool": 3})
    await put(own, *counts(9), source=SOURCE)
    given = {**SEARCH, "mode": "lexical", "k": 3, "filters": Filters(langs=("fr",))}
    return Planted(own, "zinc", "count-1", "filtered", given, then=("not_in_lexical_pool",))
