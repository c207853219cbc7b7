"""Public failure reports as somebody types them: H01, H05 to H09, H25, H52 to H55, on a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.cli import session
from veraz.config import FiltersConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import Mode
from veraz.nouns.question import Filters

MODES: tuple[Mode, ...] = ("lexical", "semantic", "hybrid")
REVISIONS = ("h_rev9.md", "h_rev10.md", "h_rev100.md", "h_revdraft.md")
STATES: Mapping[str, Mapping[str, Any]] = {
    "draft.md": {"status": "draft"},
    "final.md": {"status": "final"},
    "none.md": {},
}


@pytest.fixture
def veraz(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    async def opened(config: Any, bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, report=bars.say, embedder=HashingEmbedder())

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    return run


def ingest(veraz: Run, *paths: Path) -> None:
    done = veraz("ingest", *map(str, paths), "--source", "s", "--lang", "en")
    assert done.exit_code == 0, done.stderr


def search(veraz: Run, question: str, *options: str, mode: str = "lexical") -> dict[str, Any]:
    found = veraz("search", "--lang", "en", "--mode", mode, "--json", *options, "--", question)
    assert found.exit_code == 0, found.stderr
    answer: dict[str, Any] = document(found)
    return answer


def headings(found: Mapping[str, Any]) -> list[str]:
    return [hit["heading_path"][-1] if hit["heading_path"] else "" for hit in found["hits"]]


def names(found: Mapping[str, Any]) -> list[str]:
    """Of a hit's document and of those that say the same."""
    return sorted(d["external_id"] for hit in found["hits"] for d in (hit["document"], *hit["also"]))


def test_h05_every_spelling_of_a_code_and_h06_a_long_question(veraz: Run, cases: Path) -> None:
    ingest(veraz, cases / "h_codes.md")
    spellings = ("E-4021", "e-4021", "E4021", "E 4021", "4021", '"E-4021"', "code E-4021 relay", "-4021")
    long = "please tell me which relay I should replace when fault E-4021 shows up on a Monday"
    for question in (*spellings, long, "Replace relay K3 (24 V) and reset the drive."):
        assert headings(search(veraz, question))[0] == "Fault E-4021", question
    assert len(search(veraz, "-4021", mode="hybrid")["hits"]) == 3, "nothing was left out"


def test_h07_function_words_and_nothing_at_all(veraz: Run, cases: Path) -> None:
    ingest(veraz, cases / "h_stopwords.txt", cases / "h_codes.md")
    found = search(veraz, "to be or not to be", mode="hybrid")
    assert found["hits"][0]["document"]["external_id"] == "h_stopwords.txt"
    for question in ("the", "???", "", "-the"):
        found = search(veraz, question)
        assert (found["outcome"], found["hits"]) == ("nothing", []), question
        assert found["notes"], question
        asked = veraz("ask", "--lang", "en", "--json", "--", question)
        assert document(asked)["outcome"] == "insufficient", question
        assert "Traceback" not in asked.stderr
    for question in ("the", "-the"):
        found = search(veraz, question, mode="hybrid")
        assert all(hit["lexical"] is None for hit in found["hits"])
        assert any("only the semantic arm found anything" in note for note in found["notes"]), question


TYPED = [
    "What's the relay's rating?",
    "relay & (code",
    "relay:*",
    "!relay | <->",
    "C:\\plant\\relay",
    '"unbalanced relay',
    "relay " + "and more text " * 1500,
]


def test_h09_signs_are_text(veraz: Run, cases: Path) -> None:
    ingest(veraz, cases / "h_codes.md")
    for question in TYPED:
        found = veraz("search", "--lang", "en", "--mode", "lexical", "--json", "--", question)
        assert headings(document(found))[0] == "Fault E-4021", question[:100]
        asked = veraz("ask", "--lang", "en", "--json", "--", question)
        assert (found.exit_code, asked.exit_code) == (0, 0)
        said = found.stderr + asked.stdout + asked.stderr
        assert not any(word in said for word in ("tsquery", "syntax error", "Traceback"))


# --- filters


async def check_every_way(
    database: str, question: str, wanted: Mapping[str, list[str]], meta: Mapping[str, str]
) -> None:
    """What each expression lets through is what is wanted, in each mode and by an exact search."""
    async with await databases.open_engine(database, filters=FiltersConfig(meta=dict(meta))) as engine:  # type: ignore[arg-type]
        for where, documents in wanted.items():
            for mode, exact in product(MODES, (False, True)):
                found = await engine.search(
                    question,
                    lang="en",
                    mode=mode,
                    k=100,
                    filters=Filters(where=where),
                    exact=exact,
                    trace=False,
                )
                seen = sorted(d.external_id for hit in found.hits for d in (hit.document, *hit.also))
                assert seen == documents, (where[:200], mode, exact)


NUMBERS: Mapping[str, list[str]] = {
    "meta.revision >= 10": ["h_rev10.md", "h_rev100.md"],
    "meta.revision > 9": ["h_rev10.md", "h_rev100.md"],
    "meta.revision < 9.5": ["h_rev9.md"],
    "meta.revision between 9 and 10": ["h_rev10.md", "h_rev9.md"],
    "meta.revision in (100, 9)": ["h_rev100.md", "h_rev9.md"],
    "meta.revision = 9.0": ["h_rev9.md"],
    "meta.revision is null": ["h_revdraft.md"],
    "not meta.revision >= 10": ["h_rev9.md", "h_revdraft.md"],
}


def test_h53_numbers_are_compared_as_numbers(veraz: Run, database: str, cases: Path, tmp_path: Path) -> None:
    (tmp_path / "veraz.toml").write_text('[filters.meta]\nrevision = "number"\n', encoding="utf-8")
    ingest(veraz, *(cases / name for name in REVISIONS))
    question = "torque wrench check"
    asyncio.run(check_every_way(database, question, NUMBERS, {"revision": "number"}))
    for where in ("meta.revision >= 10", "meta.revision < 9.5"):
        assert names(search(veraz, question, "--filter", where, mode="hybrid")) == NUMBERS[where]


def test_h53_a_key_that_nobody_declared_is_not_compared_as_text_in_silence(veraz: Run, cases: Path) -> None:
    ingest(veraz, *(cases / name for name in REVISIONS))
    refused = veraz("search", "torque", "--filter", "meta.revision >= 10")
    assert refused.exit_code == 2
    assert "[filters.meta] revision" in refused.stderr
    for value, wanted in (("9", "h_rev9.md"), ("draft", "h_revdraft.md")):
        assert names(search(veraz, "torque wrench", "--filter", f"meta.revision = '{value}'")) == [wanted]


OPPOSITES: Mapping[str, list[str]] = {
    "meta.status != 'draft'": ["final.md", "none.md"],
    "meta.status not in ('draft')": ["final.md", "none.md"],
    "not meta.status = 'draft'": ["final.md", "none.md"],
    "not meta.status in ('draft', 'final')": ["none.md"],
    "meta.status !~ 'DRA'": ["final.md", "none.md"],
    "meta.status not any ('draft')": ["final.md", "none.md"],
    "meta.status is not null and meta.status != 'draft'": ["final.md"],
    "meta.status = 'draft'": ["draft.md"],
}


def test_h54_the_opposite_keeps_what_states_nothing(veraz: Run, database: str, tmp_path: Path) -> None:
    for name, meta in STATES.items():
        front = "".join(f"{key}: {value}\n" for key, value in meta.items())
        text = f"---\n{front}---\n\n# Note\n\nThis note of {name} is about torque."
        (tmp_path / name).write_text(text, encoding="utf-8")
    ingest(veraz, *(tmp_path / name for name in STATES))
    asyncio.run(check_every_way(database, "torque", OPPOSITES, {}))
    for where in ("meta.status != 'draft'", "meta.status not in ('draft')"):
        assert names(search(veraz, "torque", "--filter", where, mode="hybrid")) == OPPOSITES[where]


KEYS = [
    "author's",
    "author' = 'alice' OR '1'='1' --",
    'the "inner" part',
    '"',
    "a.b",
    "a[0]",
    "back\\slash",
    "%s %(pool)s %%",
    "{conditions}",
    "ключ 漢字 👩‍⚕️",
    "x->>'y'",
    "k" * 3000,
    " ",
]


def test_h52_keys_are_keys_whatever_they_hold(veraz: Run, database: str, tmp_path: Path) -> None:
    """Each is stored, found by its value, by no other value, and in no other document."""
    lines = [{"id": f"d{n}", "text": f"Torque of part {n}.", key: "alice"} for n, key in enumerate(KEYS)]
    path = tmp_path / "keys.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ingest(veraz, path)
    wanted: dict[str, list[str]] = {}
    for n, key in enumerate(KEYS):
        written = 'meta."' + key.replace('"', '""') + '"'
        wanted[f"{written} = 'alice'"] = [f"d{n}"]
        wanted[f"{written} = 'zzz'"] = []
        wanted[f"{written} is null"] = sorted(f"d{m}" for m in range(len(KEYS)) if m != n)
    asyncio.run(check_every_way(database, "torque", wanted, {}))
    for n, key in enumerate(KEYS[:4]):
        written = 'meta."' + key.replace('"', '""') + '"'
        assert names(search(veraz, "torque", "--filter", f"{written} = 'alice'")) == [f"d{n}"]


NO_KEYS = [
    "author' = 'alice' OR '1'='1' --",
    "meta.author' = 'alice' OR '1'='1' --",
    "meta.\"author = 'alice'",
    "meta.a->>'b' = 'alice'",
    'meta."' + "k" * 10_000 + "\" = 'alice'",
    "meta.%s = 'alice'",
    "meta.a\\b = 'alice'",
    "meta.a[0] = 'alice'",
    "meta. = 'alice'",
]


def test_h52_what_is_no_key_is_refused_and_no_sql_is_said(veraz: Run) -> None:
    for where in NO_KEYS:
        for verb in ("search", "ask"):
            refused = veraz(verb, "torque", "--filter", where)
            assert (refused.exit_code, refused.stdout) == (2, ""), where[:100]
            assert "fix: " in refused.stderr
            assert not any(word in refused.stderr.lower() for word in ("psycopg", "syntax error", "jsonb"))


def test_h01_a_filter_by_metadata_leaves_as_many_as_match(veraz: Run, database: str) -> None:
    """Twenty far from the question behind four hundred beside it, told apart by a key of the metadata. The geometry of case H01
    at its size: tests/search/test_filters_in_arms.py."""

    async def fill() -> None:
        async with await databases.open_engine(database) as engine:
            near = [record(f"a{n}", f"Pump seal torque of unit {n}.", site="A") for n in range(400)]
            far = [record(f"b{n}", f"Garden bench number {n}.", site="B") for n in range(20)]
            await put(engine, *near, *far)

    asyncio.run(fill())
    for k, wanted in ((10, 10), (100, 20)):
        for mode in ("semantic", "hybrid"):
            asked = ("-k", str(k), "--filter", "meta.site = 'B'")
            found = search(veraz, "pump seal torque", *asked, mode=mode)
            exact = search(veraz, "pump seal torque", *asked, "--exact", mode=mode)
            assert len(found["hits"]) == wanted
            assert {name[0] for name in names(found)} == {"b"}
            assert names(found) == names(exact)


def test_h25_h55_what_holds_no_text_is_named_and_exits_4(veraz: Run, cases: Path) -> None:
    blank, scan, good = (
        cases / name for name in ("h_whitespace_only.txt", "h_no_text_layer.pdf", "h_codes.md")
    )
    done = veraz("ingest", str(blank), str(scan), str(good), "--source", "s", "--lang", "en", "--json")
    report = document(done)
    assert (done.exit_code, report["new"], report["failed"]) == (4, 1, 2)
    reasons = {Path(error["path"]).name: error["reason"] for error in report["errors"]}
    assert "no content" in reasons["h_whitespace_only.txt"]
    assert "no text layer" in reasons["h_no_text_layer.pdf"]
    assert "OCR" in reasons["h_no_text_layer.pdf"]
