"""Faults of what is stored: taken in, cut, embedded, current, permitted, filtered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from tests.diagnosis.planting import (
    SOURCE,
    TOPICS,
    Planted,
    Topic,
    bystanders,
    configured,
    document,
    own_tenant,
    placing,
    plant,
    repeating,
)
from tests.support.corpus import maintenance_rows, put, record
from tests.support.hashing import HashingEmbedder

from veraz.engine import AsyncVeraz
from veraz.errors import MalformedResponse
from veraz.nouns.corpus import Access, EmbeddingBatch, TextKind
from veraz.nouns.question import Filters

SEARCH = {"verb": "search"}

# --- never ingested

for _topic in TOPICS:

    @plant("never ingested", f"others are there, {_topic.title}")
    async def _absent(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, *bystanders(topic), source=SOURCE)
        again = repeating(own, [document(topic)])
        return Planted(own, topic.question, "wanted", "never_ingested", dict(SEARCH), again=again)


@plant("never ingested", "an empty tenant")
async def _nothing(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    again = repeating(own, [document(TOPICS[0])])
    return Planted(own, TOPICS[0].question, "wanted", "never_ingested", dict(SEARCH), again=again)


@plant("never ingested", "it is in another source than the one named")
async def _elsewhere(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, record("wanted", " ".join(TOPICS[1].others)), *bystanders(TOPICS[1]), source="other")
    given = {**SEARCH, "source": SOURCE}
    again = repeating(own, [document(TOPICS[1])])
    return Planted(own, TOPICS[1].question, "wanted", "never_ingested", given, again=again)


@plant("never ingested", "it is in another tenant")
async def _foreign(engine: AsyncVeraz, _: Path) -> Planted:
    other, own = await own_tenant(engine), await own_tenant(engine)
    await put(other, document(TOPICS[2]), source=SOURCE)
    await put(own, *bystanders(TOPICS[2]), source=SOURCE)
    again = repeating(own, [document(TOPICS[2])])
    return Planted(own, TOPICS[2].question, "wanted", "never_ingested", dict(SEARCH), again=again)


@plant("never ingested", "an order behind the id")
async def _absent_chunk(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, *bystanders(TOPICS[3]), source=SOURCE)
    again = repeating(own, [document(TOPICS[3])])
    return Planted(own, TOPICS[3].question, "wanted#0", "never_ingested", dict(SEARCH), again=again)


# --- refused

BROKEN: dict[str, bytes] = {
    "broken.pdf": b"%PDF-1.4\nthis is no page tree",
    "broken.docx": b"PK\x03\x04 no archive at all",
    "broken.xlsx": b"PK\x03\x04" + b"\0" * 200,
    "broken.epub": b"PK\x03\x04" + b"x" * 64,
    "blank.md": b"\n\n   \n",
    "blank.html": b"<html><body><!-- nothing --></body></html>",
    "broken.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100,
}

for _name, _bytes in BROKEN.items():

    @plant("refused", _name)
    async def _unreadable(
        engine: AsyncVeraz, folder: Path, name: str = _name, payload: bytes = _bytes
    ) -> Planted:
        own = await own_tenant(engine)
        topic = TOPICS[0]
        (folder / name).write_bytes(payload)
        (folder / "fine.md").write_text(f"# Other\n\n{topic.others[0]}\n", encoding="utf-8")
        report = await own.ingest([folder / name, folder / "fine.md"], source=SOURCE)
        assert report.failed == 1, report
        again = repeating(own, [document(topic, name)])
        return Planted(own, topic.question, name, "refused", dict(SEARCH), again=again)


for _field, _value in {
    "revised_at": "not a day",
    "published_at": "2023-13-45",
    "valid_from": "soon",
    "supersedes": ["x"],
}.items():

    @plant("refused", f"a record whose {_field} cannot be read")
    async def _bad_record(
        engine: AsyncVeraz, folder: Path, field: str = _field, value: Any = _value
    ) -> Planted:
        own = await own_tenant(engine)
        topic = TOPICS[4]
        lines = [{**document(topic), field: value}, *bystanders(topic)]
        (folder / "c.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
        report = await own.ingest(folder / "c.jsonl", source=SOURCE)
        assert report.failed == 1, report
        again = repeating(own, [document(topic)])
        return Planted(own, topic.question, "wanted", "refused", dict(SEARCH), again=again)


class Choosy(HashingEmbedder):
    async def embed(self, texts: Any, kind: TextKind) -> EmbeddingBatch:
        if kind == "passage" and any("Choosy" in text for text in texts):
            raise MalformedResponse("a vector without direction", fix="leave the text out")
        return await super().embed(texts, kind)


@plant("refused", "a text that the model cannot embed")
async def _not_embedded(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, embedder=Choosy())
    topic = TOPICS[5]
    report = await put(
        own,
        record("wanted", f"Choosy. {topic.fact}", lang="fr"),
        *bystanders(topic),
        source=SOURCE,
        clean=False,
    )
    assert report.failed == 1
    again = repeating(own, [document(topic)])
    return Planted(own, topic.question, "wanted", "refused", dict(SEARCH), again=again)


@plant("refused", "the newer version that says it, while the older one is there")
async def _newer_refused(engine: AsyncVeraz, folder: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[0]
    (folder / "wanted.html").write_text("<p>Otitis is treated for an unknown time.</p>", encoding="utf-8")
    await own.ingest(folder / "wanted.html", source=SOURCE)
    (folder / "wanted.html").write_bytes(b"%PDF-1.4\nthis is no page tree")
    report = await own.ingest(folder / "wanted.html", source=SOURCE)
    assert report.failed == 1, report
    again = repeating(own, [document(topic, "wanted.html")])
    given = {**SEARCH, "fact": topic.fact}
    return Planted(own, topic.question, "wanted.html", "refused", given, again=again, needle=topic.fact)


# --- cut

FILLER = (
    "This paragraph says nothing about the matter, and it is here to make the text long enough to be cut."
)

for _topic in TOPICS[:4]:
    for _chunker in ("fixed:size=16,overlap=0", "fixed:size=12,overlap=0"):

        @plant("cut", f"the fact goes over two chunks of {_chunker}, {_topic.title}")
        async def _split(
            engine: AsyncVeraz, _: Path, topic: Topic = _topic, chunker: str = _chunker
        ) -> Planted:
            own = await own_tenant(engine)
            fact = f"{topic.fact} {topic.others[0]} {topic.others[1]}"
            wanted = record("wanted", f"{topic.others[2]} {fact}", lang=topic.lang)
            await put(own, wanted, *bystanders(topic), source=SOURCE, chunker=chunker)
            given = {**SEARCH, "fact": fact}
            again = repeating(own, [wanted])
            return Planted(
                own, topic.question, "wanted", "cut", given, again=again, needle=fact, cause="split"
            )


for _tokens in (32, 40):

    @plant("cut", f"a table row stands apart from what it is about, {_tokens} tokens")
    async def _table(engine: AsyncVeraz, _: Path, tokens: int = _tokens) -> Planted:
        own = await own_tenant(engine, ingest={"chunk_tokens": tokens})
        lines = [f"| drug{n} | {n} mg | every {n} hours with water |" for n in range(2, 14)]
        fact = f"{lines[4]}\n{lines[5]}\n{lines[6]}\n{lines[7]}"
        text = "\n".join(["| drug | dose | how |", "| --- | --- | --- |", *lines])
        wanted = record("wanted", text, format="markdown")
        await put(own, wanted, *bystanders(TOPICS[0]), source=SOURCE)
        given = {**SEARCH, "fact": fact}
        again = repeating(own, [wanted])
        return Planted(
            own,
            "drug6 dose",
            "wanted",
            "cut",
            given,
            again=again,
            cause="split",
            needle=fact,
        )


for _topic in (TOPICS[0], TOPICS[3]):

    @plant("cut", f"the fact stands in a comment of Markdown, {_topic.title}")
    async def _comment(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        text = f"# Notes\n\n{topic.others[0]}\n\n<!-- {topic.fact} -->\n\n# More\n\n{topic.others[1]}\n"
        await put(own, record("wanted", text, lang=topic.lang, format="markdown"), source=SOURCE)
        given = {**SEARCH, "fact": topic.fact}
        again = repeating(own, [document(topic)])
        return Planted(
            own, topic.question, "wanted", "cut", given, again=again, needle=topic.fact, cause="markup"
        )

    @plant("cut", f"the fact stands in an element of HTML that nobody sees, {_topic.title}")
    async def _hidden(engine: AsyncVeraz, folder: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        page = f"<html lang={topic.lang}><body><p>{topic.others[0]}</p><p style='display:none'>{topic.fact}</p></body></html>"
        (folder / "wanted.html").write_text(page, encoding="utf-8")
        await own.ingest(folder / "wanted.html", source=SOURCE)
        given = {**SEARCH, "fact": topic.fact}
        again = repeating(own, [document(topic, "wanted.html")])
        return Planted(own, topic.question, "wanted.html", "cut", given, again=again, needle=topic.fact)

    @plant("cut", f"the fact is a heading with nothing below it, {_topic.title}")
    async def _heading(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        text = f"# Notes\n\n{topic.others[0]}\n\n## {topic.title}\n\n# More\n\n{topic.others[1]}\n"
        await put(own, record("wanted", text, lang=topic.lang, format="markdown"), source=SOURCE)
        given = {**SEARCH, "fact": topic.title}
        again = repeating(own, [record("wanted", f"{topic.title}. {topic.fact}", lang=topic.lang)])
        return Planted(
            own, topic.question, "wanted", "cut", given, again=again, needle=topic.title, cause="heading"
        )


@plant("cut", "the fact is not in the text at all")
async def _not_there(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[1]
    await put(own, record("wanted", " ".join(topic.others)), source=SOURCE)
    given = {**SEARCH, "fact": topic.fact}
    again = repeating(own, [document(topic)])
    return Planted(
        own, topic.question, "wanted", "cut", given, again=again, needle=topic.fact, cause="absent"
    )


for _topic in (TOPICS[0], TOPICS[1], TOPICS[4], TOPICS[5]):

    @plant("cut", f"the heading that names the subject is not embedded, {_topic.title}")
    async def _headless(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        """The passage says "twice a day", and only its heading says of what."""
        own = await own_tenant(engine, ingest={"header": False})
        wanted = record("wanted", "# Zubrovine\n\nTwice a day, before meals.", lang="en", format="markdown")
        await put(own, wanted, *bystanders(topic, 12), source=SOURCE)
        given = {**SEARCH, "mode": "lexical"}
        again = repeating(own, [wanted])
        return Planted(own, "zubrovine", "wanted", "cut", given, again=again, cause="header")


# --- embedding missing

for _topic, _mode in ((TOPICS[0], "semantic"), (TOPICS[3], "semantic"), (TOPICS[5], "semantic"), (TOPICS[6], "semantic"),
                      (TOPICS[1], "hybrid"), (TOPICS[2], "hybrid")):  # fmt: skip

    @plant("embedding missing", f"{_mode}, {_topic.title}")
    async def _no_vector(engine: AsyncVeraz, _: Path, topic: Topic = _topic, mode: str = _mode) -> Planted:
        own = await own_tenant(engine)
        wanted = document(topic)
        await put(own, wanted, *bystanders(topic), source=SOURCE)
        await maintenance_rows(
            own,
            "delete from veraz.embedding_1 e using veraz.document d"
            " where e.tenant_id = d.tenant_id and e.document_id = d.document_id"
            " and d.tenant_id = %s and d.external_id = 'wanted' returning 1",
            (await own.identity()).tenant_id,
        )
        question = topic.question if mode == "semantic" else "kyrovine ozantil"
        given = {**SEARCH, "mode": mode}
        again = repeating(own, [wanted])
        return Planted(own, question, "wanted", "embedding_missing", given, again=again)


# --- not current

DAY = date(2024, 6, 1)

for _topic in TOPICS[:5]:

    @plant("not current", f"an older revision says it, {_topic.title}")
    async def _older(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        newer = record("wanted", " ".join(topic.others), lang=topic.lang, title=topic.title)
        await put(own, document(topic, valid_from="2023-01-01"), *bystanders(topic), source=SOURCE)
        await put(own, {**newer, "valid_from": "2024-01-01"}, source=SOURCE)
        given = {**SEARCH, "fact": topic.fact}
        return Planted(own, topic.question, "wanted", "not_current", given, needle=topic.fact)

    @plant("not current", f"another document replaces it, {_topic.title}")
    async def _replaced(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *bystanders(topic), source=SOURCE)
        newer = record("newer", " ".join(topic.others), lang=topic.lang, supersedes="wanted")
        await put(own, newer, source=SOURCE)
        return Planted(own, topic.question, "wanted", "not_current", dict(SEARCH))


@plant("not current", "an operator said that it is replaced")
async def _pinned(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[0]), *bystanders(TOPICS[0]), source=SOURCE)
    await own.supersede("wanted", by="other-1", source=SOURCE, since=date(2024, 3, 1))
    return Planted(own, TOPICS[0].question, "wanted", "not_current", dict(SEARCH))


@plant("not current", "its successor was deleted")
async def _orphaned(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    await put(own, document(TOPICS[2]), *bystanders(TOPICS[2]), source=SOURCE)
    await own.supersede("wanted", by="other-1", source=SOURCE)
    await own.delete("other-1", source=SOURCE)
    return Planted(own, TOPICS[2].question, "wanted", "not_current", dict(SEARCH))


for _name, _dates in {
    "it holds from a later day": {"valid_from": "2024-09-01"},
    "it had ended by then": {"valid_from": "2023-01-01", "valid_to": "2024-01-31"},
    "it is revised later": {"revised_at": "2025-02-01"},
}.items():
    for _topic in (TOPICS[1], TOPICS[4]):

        @plant("not current", f"{_name} than the day that is asked for, {_topic.title}")
        async def _other_day(
            engine: AsyncVeraz, _: Path, topic: Topic = _topic, dates: Mapping[str, str] = _dates
        ) -> Planted:
            own = await own_tenant(engine)
            await put(own, document(topic, **dates), *bystanders(topic), source=SOURCE)
            return Planted(own, topic.question, "wanted", "not_current", {**SEARCH, "as_of": DAY})


@plant("not current", "the next edition of the item is there")
async def _edition(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[1]
    await put(own, document(topic, item="insulin", edition="1", valid_from="2022-01-01"), source=SOURCE)
    second = record("second", " ".join(topic.others), item="insulin", edition="2", valid_from="2023-01-01")
    await put(own, second, source=SOURCE)
    return Planted(own, topic.question, "wanted", "not_current", dict(SEARCH))


# --- deleted

for _topic in TOPICS[:5]:

    @plant("deleted", _topic.title)
    async def _deleted(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *bystanders(topic), source=SOURCE)
        await own.delete("wanted", source=SOURCE)
        return Planted(own, topic.question, "wanted", "deleted", dict(SEARCH))


@plant("deleted", "its file was gone when the folder was pruned")
async def _pruned(engine: AsyncVeraz, folder: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[0]
    (folder / "wanted.md").write_text(topic.fact, encoding="utf-8")
    for n, other in enumerate(topic.others):
        (folder / f"other-{n}.md").write_text(other, encoding="utf-8")
    await own.ingest(folder, source=SOURCE, lang="en")
    (folder / "wanted.md").unlink()
    await own.ingest(folder, source=SOURCE, lang="en", prune=True, confirmed=True)
    return Planted(own, topic.question, "wanted.md", "deleted", dict(SEARCH))


@plant("deleted", "erased")
async def _erased(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[1]
    await put(own, document(topic), *bystanders(topic), source=SOURCE)
    await own.erase("wanted", source=SOURCE)
    again = repeating(own, [document(topic)])
    return Planted(own, topic.question, "wanted", "deleted", dict(SEARCH), again=again, cause="erased")


@plant("deleted", "with a fact and an order")
async def _deleted_chunk(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine)
    topic = TOPICS[2]
    await put(own, document(topic), *bystanders(topic), source=SOURCE)
    await own.delete("wanted", source=SOURCE)
    given = {**SEARCH, "fact": topic.fact}
    return Planted(own, topic.question, "wanted#0", "deleted", given, needle=topic.fact)


# --- filtered

FILTERS: dict[str, tuple[Filters, dict[str, Any], dict[str, Any]]] = {
    "source": (Filters(sources=("elsewhere",)), {}, {}),
    "language": (Filters(langs=("pt",)), {}, {}),
    "authority": (Filters(authority=4), {}, {"authority": 2}),
    "license": (Filters(licenses=("MIT",)), {}, {"license": "CC0-1.0"}),
    "license, none stated": (Filters(licenses=("MIT",)), {}, {}),
    "jurisdiction": (Filters(jurisdictions=("FR",)), {}, {"jurisdiction": "ES"}),
    "revised from": (Filters(revised_from=date(2024, 1, 1)), {"revised_at": "2023-05-05"}, {}),
    "revised from, undated": (Filters(revised_from=date(2024, 1, 1)), {}, {}),
    "revised to": (Filters(revised_to=date(2020, 1, 1)), {"revised_at": "2023-05-05"}, {}),
    "published from": (Filters(published_from=date(2024, 1, 1)), {"published_at": "2023-05-05"}, {}),
    "published to": (Filters(published_to=date(2020, 1, 1)), {"published_at": "2023-05-05"}, {}),
    "expression": (Filters(where="authority >= 4 and lang = 'pt'"), {}, {"authority": 2}),
    "expression, one part": (Filters(where="not license = 'MIT' and revised_at >= today - 1 years"), {}, {}),
    "expression, metadata": (
        Filters(where="meta.category = 'security' or meta.category is null"),
        {"category": "other"},
        {},
    ),
    "expression, chunk": (Filters(where="source is not null and heading any ('Nowhere')"), {}, {}),
    "filter and expression": (Filters(langs=("pt",), where="not title ~ ''"), {}, {}),
    "two filters": (Filters(langs=("pt",), authority=5), {}, {"authority": 1}),
}

for _topic in (TOPICS[0], TOPICS[3]):
    for _name, _filter in FILTERS.items():

        @plant("filtered", f"{_name}, {_topic.title}")
        async def _filtered(
            engine: AsyncVeraz,
            _: Path,
            topic: Topic = _topic,
            planted: tuple[Filters, dict[str, Any], dict[str, Any]] = _filter,
        ) -> Planted:
            own = await own_tenant(engine)
            filters, fields, settings = planted
            await put(own, document(topic, **fields), *bystanders(topic), source=SOURCE, **settings)
            return Planted(own, topic.question, "wanted", "filtered", {**SEARCH, "filters": filters})


# --- not permitted

TOMORROW, YESTERDAY = datetime.now(UTC) + timedelta(days=1), datetime.now(UTC) - timedelta(days=1)
LOCKS: dict[str, Access] = {
    "another label": Access(("hr",)),
    "two labels, all of them": Access(("public", "hr"), "all"),
    "the owner alone": Access(("user:maria",), "owner", "user:maria"),
    "not before tomorrow": Access(("public",), readable_from=TOMORROW),
    "not since yesterday": Access(("public",), readable_until=YESTERDAY),
    "not before tomorrow but for the owner": Access(("public",), owner="user:jose", readable_from=TOMORROW),
}

for _topic in (TOPICS[0], TOPICS[3]):
    for _name, _access in LOCKS.items():

        @plant("not permitted", f"{_name}, {_topic.title}")
        async def _locked(
            engine: AsyncVeraz, _: Path, topic: Topic = _topic, access: Access = _access
        ) -> Planted:
            own = await own_tenant(engine)
            await put(own, document(topic), *bystanders(topic), source=SOURCE)
            await own.set_access("wanted", source=SOURCE, access=access)
            return Planted(own, topic.question, "wanted", "not_permitted", dict(SEARCH))


# --- routed

EMERGENCIES = {
    "en": "My father has crushing chest pain and can't breathe",
    "en, bleeding": "My wife is bleeding heavily and it won't stop",
    "es": "Mi padre tiene un dolor fuerte en el pecho y no puede respirar",
    "fr": "Mon père a une forte douleur à la poitrine et ne peut pas respirer",
    "en, unconscious": "My son is unconscious and not breathing",
}

for _name, _question in EMERGENCIES.items():

    @plant("routed", _name)
    async def _routed(engine: AsyncVeraz, _: Path, question: str = _question) -> Planted:
        own = await own_tenant(engine)
        wanted = record("wanted", f"What to do when somebody says: {question}. Call for help.", lang="en")
        await put(own, wanted, *bystanders(TOPICS[0]), source=SOURCE)
        return Planted(own, question, "wanted", "routed", {"verb": "ask"})


# --- found: nothing is broken

for _topic in TOPICS:

    @plant("found", f"nothing is broken, {_topic.title}")
    async def _fine(engine: AsyncVeraz, _: Path, topic: Topic = _topic) -> Planted:
        own = await own_tenant(engine)
        await put(own, document(topic), *bystanders(topic), source=SOURCE)
        return Planted(own, topic.question, "wanted", "found", {**SEARCH, "fact": topic.fact})


@plant("found", "answered too")
async def _answered(engine: AsyncVeraz, _: Path) -> Planted:
    own = configured(await own_tenant(engine), answer={"threshold": 0.0})
    await put(own, document(TOPICS[0]), *bystanders(TOPICS[0]), source=SOURCE)
    return Planted(own, TOPICS[0].question, "wanted", "found", {"verb": "ask"})


@plant("found", "an id with a hash sign")
async def _hash(engine: AsyncVeraz, _: Path) -> Planted:
    own = await own_tenant(engine, embedder=placing())
    await put(own, document(TOPICS[0], "wanted#2"), *bystanders(TOPICS[0]), source=SOURCE)
    return Planted(own, TOPICS[0].question, "wanted#2", "found", dict(SEARCH))
