"""The HTML report: it says what the runs hold, escapes what they say, and works in a browser under its own policy."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.judged import made_run

from veraz.errors import UsageError
from veraz.evaluation.reporting.markup import element, joined
from veraz.evaluation.reporting.page import report, write_report
from veraz.nouns.evaluation import GateResult, IndexFigure, StoredRun

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1, "e": 1}, "q4": {"f": 1}}
BEFORE = made_run(
    {"q1": ["a", "x", "b"], "q2": ["x", "c"], "q3": ["x"], "q4": []}, QRELS,
    facets={"q1": ("table",), "q2": ("table", "negation")}, run_id="aaaa1111",
)  # fmt: skip
AFTER = made_run(
    {"q1": ["x", "a", "b"], "q2": ["c"], "q3": ["x", "e"], "q4": []}, QRELS,
    facets={"q1": ("table",), "q2": ("table", "negation")}, run_id="bbbb1111", config={"mode": "lexical"},
)  # fmt: skip
INDEX = (
    IndexFigure("exact", 10, 1.0, 41.5),
    IndexFigure("hnsw", 10, 0.987, 2.4, 12_000_000, 31.5),
    IndexFigure("ivfflat", 10, 0.93, 3.3, 9_000_000, 4.0),
    IndexFigure("binary", 10, 0.96, 1.1, 700_000, 9.0),
)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; </style></title></svg><iframe src=javascript:alert(1)>",
    "]]> --> <!-- &lt;b&gt; &#x3c;",
    "\u202egnihtemos\u202c \x1b[2J \0 \ud800",
    "javascript:alert(1) {{7*7}} ${7*7}",
)


class Page(HTMLParser):
    """Elements with their attributes, and the text of the page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes what it did not open"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def with_everything(run: StoredRun = AFTER) -> StoredRun:
    gates = (
        GateResult(
            "ndcg@10 not worse", "ndcg@10", "not worse", 0.4, 0.3, False, 0.5, -0.2, 0.1, "the mean lost more"
        ),
    )
    return replace(
        run,
        header=replace(run.header, gates=gates, warnings=("odd",), shortfall=3, empty_arms={"semantic": 2}),
    )


def test_a_page_answers_its_readers_questions_in_order() -> None:
    page = Page(report([BEFORE, with_everything()], index=INDEX))
    titles = [
        "Figures", "Gates", "Recall by depth", "Differences", "By facet", "By query", "Latency by stage",
        "Exact and approximate scans", "How the runs were made",
    ]  # fmt: skip
    assert [a["href"] for a in page.of("a")] == [f"#{s['id']}" for s in page.of("h2")]
    for title in titles:
        assert title in page.text
    assert "aaaa1111 (hybrid) (baseline)" in page.text
    assert "queries gained, 1 lost" in page.text
    assert "Warning: odd" in page.text
    assert "mode hybrid lexical" in page.text
    assert "11.4 MiB" in page.text
    assert "31.5 s" in page.text
    assert "ndcg@10 not worse 0.3000 0.5000 FAIL the mean lost more" in page.text


def test_a_single_run_without_facets_index_or_gates_leaves_those_out() -> None:
    page = Page(report([made_run({"q1": ["a"]}, QRELS)]))
    for absent in ("By facet", "Differences", "Gates", "Exact and approximate"):
        assert absent not in page.text
    assert "3 queries at 0, 0 of them without anything relevant." in page.text


def test_the_figures_on_the_page_are_those_of_the_runs() -> None:
    page = Page(report([BEFORE, AFTER]))
    for run in (BEFORE, AFTER):
        for value in run.header.metrics.values():
            assert f"{value:.4f}" in page.text
    table = "table 2 aaaa1111 (hybrid)"
    assert table in page.text, "a facet, its queries, and a row for each run"
    mean = (BEFORE.values["q1"]["ndcg@10"] + BEFORE.values["q2"]["ndcg@10"]) / 2
    assert f"{table} table, aaaa1111 (hybrid): {mean:.4f} {mean:.4f}" in page.text


def test_facets_can_be_given_apart() -> None:
    page = Page(report([BEFORE], facets={"q1": ["mine"], "unknown": ["other"]}))
    assert "mine 1" in page.text
    assert "other" not in page.text.partition("By facet")[2].partition("By query")[0]


def test_index_figures_may_lie_in_the_run_itself() -> None:
    rows = [
        {"method": "hnsw", "k": 10, "recall": 0.987, "p50_ms": 2.4, "size_bytes": 1, "build_seconds": 1.0},
        {"method": "odd"},
    ]
    page = Page(report([made_run({"q1": ["a"]}, QRELS, config={"index": {"figures": rows}})]))
    assert "Exact and approximate scans" in page.text
    assert "0.9870" in page.text


def test_every_plot_is_an_image_with_a_name_and_has_a_table() -> None:
    page = Page(report([BEFORE, AFTER], index=INDEX))
    plots = [a for a in page.of("svg") if a.get("role") == "img"]
    assert len(plots) > 10
    assert all(a["aria-label"] for a in plots)
    assert all(
        a.get("role") == "img" or a.get("aria-hidden") or "viewbox" in a or "x" in a for a in page.of("svg")
    )
    assert len(page.of("table")) == len(page.of("caption")) >= 9
    assert all(a["scope"] in ("col", "row") for a in page.of("th"))
    assert page.of("html")[0]["lang"] == "en"
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in page.of("div"))
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))


def test_the_page_needs_nothing_and_can_run_nothing() -> None:
    page = Page(report([BEFORE, with_everything()], index=INDEX))
    names = {name for name, _ in page.elements}
    assert not names & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "use",
        "image",
        "foreignobject",
    }
    for name, attributes in page.elements:
        assert not [
            a for a in attributes if a.startswith("on") or a in ("style", "src", "xlink:href", "srcset")
        ], name
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "url(" not in report([BEFORE])
    assert "@import" not in report([BEFORE])


@pytest.mark.parametrize("evil", HOSTILE)
def test_hostile_words_of_any_origin_stay_words(evil: str) -> None:
    # evaluators take ids as UTF-8 without NUL
    name = re.sub("[\x00\ud800]", "", evil)
    qrels: dict[str, dict[str, int]] = {name: {"a": 1}, "q2": {name: 2}}
    made: dict[str, Any] = {
        "texts": {name: evil, "q2": evil}, "facets": {name: (evil,)}, "stages": {evil: 3.0},
        "config": {evil: evil, "mode": evil, "list": [evil], "corpus": {"fingerprint": evil, "documents": evil}},
    }  # fmt: skip
    before = made_run({name: [name, "a"]}, qrels, run_id=evil, **made)
    after = made_run({name: ["a"]}, qrels, run_id=evil[::-1], **{**made, "config": {"mode": "x"}})
    gate = GateResult(evil, evil, evil, 0.0, 0.0, False, why=evil)
    header = replace(
        after.header, dataset=evil, warnings=(evil,), gates=(gate,), empty_arms={evil: 1}, failed=1
    )
    broken = replace(after.results[1], error=evil, outcome=evil)
    hostile = StoredRun(header, (after.results[0], broken), evil)
    page = Page(report([before, hostile], index=[IndexFigure(evil, 10, 0.5, 1.0)]))
    plain = Page(report([BEFORE, with_everything()], index=INDEX))
    assert {name for name, _ in page.elements} <= {name for name, _ in plain.elements}
    assert {a for _, found in page.elements for a in found} <= {
        a for _, found in plain.elements for a in found
    }
    shown = " ".join(re.sub("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", "\ufffd", evil).split())
    assert page.text.count(shown) > 8
    assert not re.search("[\x00-\x08\u202a-\u202e\ud800-\udfff]", report([before, hostile]))


@given(st.text(), st.text())
def test_text_reads_back_as_it_was(content: str, value: str) -> None:
    page = Page(element("p", content, title=value, hidden=None))
    cleaned = [
        re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", "\ufffd", s)
        for s in (content, value)
    ]
    newlines = [s.replace("\r\n", "\n").replace("\r", "\n") for s in cleaned]
    assert "".join(page.words).replace("\r\n", "\n").replace("\r", "\n") == newlines[0]
    assert (page.of("p")[0]["title"] or "").replace("\r\n", "\n").replace("\r", "\n") == newlines[1]


def test_only_what_was_made_as_markup_is_markup() -> None:
    assert joined("<b>", element("b", "<", ["&", None], 3), None) == "&lt;b&gt;<b>&lt;&amp;3</b>"
    assert element("td", class_="n", aria_label='a"b', x=0.25, y=3, off=False) == (
        '<td class="n" aria-label="a&quot;b" x="0.25" y="3"></td>'
    )


def test_measures_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"(?s)map@3 is not in every run.*ndcg@10"):
        report([BEFORE], measure="map@3")
    with pytest.raises(UsageError, match="no run"):
        report([])
    assert "map of each query" in Page(report([BEFORE, AFTER], measure="map")).text
    with pytest.raises(UsageError, match="cannot be written"):
        write_report(tmp_path, report([BEFORE]))


def test_a_thousand_queries_make_a_page_that_a_browser_can_hold() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(1000)}
    before = made_run({q: ["x", "a"] for q in qrels}, qrels)
    after = made_run({q: ["a"] if int(q[1:]) % 2 else ["x", "y", "a"] for q in qrels}, qrels)
    page = report([before, after])
    assert len(page) < 1_500_000
    assert "The 500 queries at both ends, of 1,000" in page


# --- in a browser

CHROMIUM = next(
    (p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def console_of(place: Path, profile: Path) -> tuple[str, list[str]]:
    """The document as the browser holds it, and what it wrote to its console."""
    assert CHROMIUM is not None
    ran = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
         f"--user-data-dir={profile}", "--virtual-time-budget=2000", "--dump-dom", place.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return ran.stdout, [line for line in ran.stderr.splitlines() if "CONSOLE" in line]


@needs_chromium
def test_chromium_opens_it_without_a_word_in_its_console(tmp_path: Path) -> None:
    texts = {q: HOSTILE[n % len(HOSTILE)] for n, q in enumerate(QRELS)}
    before = made_run({"q1": ["b", "a"]}, QRELS, texts=texts, run_id="aaaa1111")
    write_report(tmp_path / "report.html", report([before, with_everything()], index=INDEX))
    dom, said = console_of(tmp_path / "report.html", tmp_path / "profile")
    assert "Evaluation of" in dom
    assert "<polyline" in dom
    assert said == []


@needs_chromium
def test_what_its_policy_forbids_would_be_seen_in_the_console(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    page = report([BEFORE])
    for evil in (
        "<script>alert(1)</script>",
        '<p style="color:red">x</p>',
        '<img src="https://example.org/x.png">',
    ):
        (tmp_path / "report.html").write_text(page.replace("</main>", f"{evil}</main>"))
        _, said = console_of(tmp_path / "report.html", tmp_path / "profile")
        assert len(said) >= 1, evil
        assert "Content Security Policy" in said[0]
