"""No question leaves the lexical arm empty while one of its content words occurs in the corpus."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import databases
from tests.support.corpus import rows
from tests.support.oracle import lexical_arm

from veraz.demo import CORPUS
from veraz.engine import AsyncVeraz

REPLACED = "fever-in-children-2019.md"
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class Demo:
    """The demonstration corpus without a model, the loop that its engine lives in, and the corpus's content words."""

    runner: asyncio.Runner
    engine: AsyncVeraz
    words: list[str]


def corpus_words() -> list[str]:
    """Words of four letters and more of the current documents; front matter and links left out."""
    files = sorted(set(CORPUS.glob("*.md")) - {CORPUS / REPLACED})
    text = " ".join(path.read_text(encoding="utf-8").split("---", 2)[-1] for path in files)
    return sorted(set(_WORD.findall(re.sub(r"https?://\S+", " ", text))))


async def content_words(engine: AsyncVeraz) -> list[str]:
    """Those that are stop words of none of the corpus's languages, with their accents (`quién`) or without (`quien`)."""
    found = await rows(
        engine,
        "select w from unnest(%s::text[]) w where not exists ("
        " select from unnest(array['english', 'spanish', 'french']::regconfig[]) c, unnest(array[w, unaccent(w)]) form"
        " where to_tsvector(c, form) = '')",
        corpus_words(),
    )
    return [word for (word,) in found]


@pytest.fixture(scope="module")
def demo(server: str, template: str) -> Iterator[Demo]:
    with databases.fresh(server, template) as url, asyncio.Runner() as runner:
        engine = runner.run(databases.open_engine(url))
        report = runner.run(engine.ingest([str(CORPUS)], source="demo"))
        assert report.errors == ()
        yield Demo(runner, engine, runner.run(content_words(engine)))
        runner.run(engine.close())


def plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda w: w,
    "lower": str.lower,
    "UPPER": str.upper,
    "Title": str.title,
    "without accents": plain,
    "UPPER without accents": lambda w: plain(w).upper(),
    "decomposed": lambda w: unicodedata.normalize("NFD", w),
    "with soft hyphen": lambda w: f"{w[:2]}\u00ad{w[2:]}",
}
AROUND = (
    "{}",
    "please tell me about {} on a Monday",
    "¿qué hay de {}?",
    "«{}»",
    "{}, zzqx vvkw",
    "is {}/other or (not) {}…",
    "x" * 200 + " {}",
    "({})",
)


def test_the_corpus_has_words_of_three_languages(demo: Demo) -> None:
    assert len(demo.words) > 1500
    assert {"insulin", "fiebre", "diarrhée"} <= {w.lower() for w in demo.words}


def test_every_content_word_alone_reaches_the_arm(demo: Demo) -> None:
    async def missed() -> list[str]:
        return [w for w in demo.words if not await lexical_arm(demo.engine, w, "en", pool=1)]

    assert demo.runner.run(missed()) == []


@settings(max_examples=200, deadline=None)
@given(
    data=st.data(),
    form=st.sampled_from(sorted(FORMS)),
    around=st.sampled_from(AROUND),
    lang=st.sampled_from(("en", "es", "fr")),
)
def test_a_content_word_reaches_the_arm_in_any_form_and_company(
    demo: Demo, data: st.DataObject, form: str, around: str, lang: str
) -> None:
    word = FORMS[form](demo.words[data.draw(st.integers(0, len(demo.words) - 1))])
    question = around.format(*[word] * around.count("{}"))
    assert demo.runner.run(lexical_arm(demo.engine, question, lang)), question


@settings(max_examples=150, deadline=None)
@given(question=st.text(max_size=200))
def test_no_question_is_an_error(demo: Demo, question: str) -> None:
    result = demo.runner.run(demo.engine.search(question, lang="en"))
    assert result.trace_id
    assert len(result.hits) <= 10
