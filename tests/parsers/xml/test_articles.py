from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from lxml import etree

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.xml import XmlParser


def parse(source: str | bytes) -> ParsedDocument:
    payload = source.encode() if isinstance(source, str) else source
    return XmlParser().parse(RawItem("a.nxml", "a.nxml", "xml", payload=payload))


# JATS

META = (
    '<journal-meta><journal-title-group><journal-title>J Test</journal-title></journal-title-group>'
    "<publisher><publisher-name>Acme</publisher-name></publisher></journal-meta>"
    '<article-meta><article-id pub-id-type="doi">10.1/x</article-id><article-id pub-id-type="pmid">77</article-id>'
    "<title-group><article-title>Growth at 10<sup>5</sup> CFU<xref>*</xref></article-title>"
    "<subtitle>A trial</subtitle></title-group>"
    '<pub-date><year>2020</year><month>6</month></pub-date><pub-date><year>2020</year><month>6</month><day>9</day></pub-date>'
    '<permissions><license xlink:href="https://creativecommons.org/licenses/by/4.0/"><license-p>Open</license-p></license></permissions>'
    "<abstract><sec><title>Aim</title><p>To test.</p></sec></abstract></article-meta>"
)  # fmt: skip


def article(body: str, back: str = "", front: str = META) -> str:
    return (
        '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "JATS-archivearticle1.dtd">'
        '<article xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en" article-type="research-article">'
        f"<front>{front}</front><body>{body}</body><back>{back}</back></article>"
    )


def test_what_an_article_states() -> None:
    doc = parse(article("<sec><title>Methods</title><p>x</p></sec>"))
    assert (doc.title, doc.lang, doc.published_at) == ("Growth at 10⁵ CFU: A trial", "en", date(2020, 6, 9))
    assert (doc.url, doc.license) == (
        "https://doi.org/10.1/x",
        "https://creativecommons.org/licenses/by/4.0/",
    )
    assert (doc.publisher, doc.document_type, doc.media) == ("Acme", "research-article", "jats")
    assert doc.meta == {"doi": "10.1/x", "pmid": "77", "journal": "J Test"}
    assert [s.heading_path for s in doc.sections[1:]] == [("Abstract",), ("Abstract", "Aim"), ("Methods",)]


def test_sections_lists_boxes_and_formulas() -> None:
    body = (
        "<sec><label>1</label><title>Dose</title><p>Give &alpha;<sub>2</sub>:<list list-type='order'>"
        "<list-item><p>one</p></list-item>"
        "<list-item><p>two</p></list-item></list> then stop.</p><sec><title>Box</title>"
        "<boxed-text><caption><title>Key</title></caption>"
        "<p>boxed</p></boxed-text><disp-formula>"
        "<tex-math>\\documentclass{x}\\begin{document}$x^2$\\end{document}</tex-math></disp-formula>"
        "<disp-quote><p>quoted</p></disp-quote></sec></sec>"
    )
    doc = parse(article(body))
    begin = next(s.start for s in doc.sections if s.heading == "1 Dose")
    assert doc.text[begin:].split("\n\n") == [
        "1 Dose", "Give α₂:", "1. one\n2. two", "then stop.", "Box", "Key", "boxed", "$x^2$", "quoted",
    ]  # fmt: skip
    assert [b.kind for b in doc.blocks][-1] == "quote"


def test_tables_with_label_caption_and_notes() -> None:
    wrap = (
        "<table-wrap><label>Table 1</label><caption><title>Doses</title><p>by age</p></caption><alternatives><graphic/>"
        "<table><thead><tr><th rowspan='2'>Age</th><th colspan='2'>Dose (mg)</th></tr><tr><th>day</th><th>night</th></tr></thead>"
        "<tbody><tr><td>6<sup>a</sup></td><td>5</td><td>10</td></tr></tbody></table></alternatives>"
        "<table-wrap-foot><fn><label>a</label><p>in years</p></fn></table-wrap-foot></table-wrap>"
    )
    doc = parse(article(f"<sec><title>R</title><p>See.</p>{wrap}</sec>"))
    assert doc.text.split("\n\n")[-3:] == [
        "Table 1 Doses by age",
        "| Age | Dose (mg) | Dose (mg) |\n| Age | day | night |\n|---|---|---|\n| 6ᵃ | 5 | 10 |",
        "a in years",
    ]
    table = next(b for b in doc.blocks if b.kind == "table")
    assert table.caption is not None
    assert doc.text[table.caption.start : table.caption.end] == "Table 1 Doses by age"
    assert doc.warnings == ()


def test_what_is_left_out_is_counted() -> None:
    figure = "<fig><label>Fig 1</label><caption><p>Curve</p></caption><graphic/></fig>"
    refs = (
        "<ref-list><title>References</title><ref><mixed-citation>One</mixed-citation></ref>"
        "<ref><mixed-citation>Two</mixed-citation></ref></ref-list>"
    )
    doc = parse(article(f"<p>Intro.</p>{figure}", f"<ack><p>Thanks</p></ack>{refs}"))
    assert doc.text.split("\n\n")[-4:] == ["Intro.", "Fig 1 Curve", "Acknowledgements", "Thanks"]
    assert doc.warnings == ("2 references left out", "1 figure: the picture left out, label and caption kept")


def test_several_articles_are_sections_of_one_document() -> None:
    one = article("<sec><title>Methods</title><p>x</p></sec>").partition('1.dtd">')[2]
    doc = parse(f"<pmc-articleset>{one}{one.replace('Growth', 'Decay')}</pmc-articleset>")
    assert [s.heading for s in doc.sections if s.level == 1] == [
        "Growth at 10⁵ CFU: A trial",
        "Decay at 10⁵ CFU: A trial",
    ]
    assert ("Decay at 10⁵ CFU: A trial", "Methods") in {s.heading_path for s in doc.sections}


def test_a_retraction_is_told() -> None:
    front = META.replace(
        "<abstract>",
        '<related-article related-article-type="retracted-article" xlink:href="10.1/y"/><abstract>',
    )
    assert parse(article("<p>x</p>", front=front)).warnings == ("concerns a retraction: 10.1/y",)


def test_a_real_article(shared: Path) -> None:
    payload = (shared / "data/hard_ingest/docling/pntd.0008301.nxml").read_bytes()
    doc = parse(payload)
    assert doc.title.startswith("Risk factors associated with failing pre-transmission assessment surveys")
    assert (doc.published_at, doc.meta["pmid"]) == (date(2020, 6, 1), "32479495")
    assert ("Methods", "Outcome and covariate variables", "Agent") in {s.heading_path for s in doc.sections}
    assert doc.warnings == (
        "53 references left out",
        "5 figures: the picture left out, label and caption kept",
    )
    tables = [doc.text[b.start : b.end] for b in doc.blocks if b.kind == "table"]
    root = etree.fromstring(payload)
    # a line for each row, and the one below the header
    rows = [len(table.findall(".//tr")) for table in root.iter("table")]
    assert [table.count("\n") for table in tables] == rows == [18, 11]
    assert all("|---" in table for table in tables)
    theirs: Counter[str] = Counter()
    for part in root.iterfind(".//body//p"):
        theirs += Counter(re.findall(r"[^\W\d_]{3,}", " ".join(map(str, part.itertext())).lower()))
    ours = Counter(re.findall(r"[^\W\d_]{3,}", doc.text.lower()))
    assert theirs.total() > 3000
    assert (theirs & ours).total() / theirs.total() > 0.998


# PubMed


def citation(pmid: str, title: str, abstract: str, more: str = "") -> str:
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate><Year>2019</Year>"
        "<Month>Mar</Month><Day>4</Day></PubDate></JournalIssue><Title>J</Title></Journal>"
        f"<ArticleTitle>{title}</ArticleTitle>{abstract}<Language>eng</Language></Article>{more}</MedlineCitation>"
        f'<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1/{pmid}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>'
    )


LABELLED = (
    '<Abstract><AbstractText Label="OBJECTIVE">To test 10<sup>5</sup>.</AbstractText>'
    '<AbstractText Label="RESULTS">It &lt;worked&gt;.</AbstractText></Abstract>'
)


def test_one_citation_is_a_document() -> None:
    doc = parse(f"<PubmedArticleSet>{citation('5', 'A <i>title</i>.', LABELLED)}</PubmedArticleSet>")
    assert doc.text == "Objective\n\nTo test 10⁵.\n\nResults\n\nIt <worked>."
    assert (doc.title, doc.lang, doc.published_at) == ("A title.", "en", date(2019, 3, 4))
    assert doc.meta == {"pmid": "5", "doi": "10.1/5", "journal": "J"}
    assert (doc.url, doc.media) == ("https://pubmed.ncbi.nlm.nih.gov/5/", "pubmed")


def test_several_citations_are_sections_of_one_document() -> None:
    retracted = (
        '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"/></CommentsCorrectionsList>'
    )
    plain = "<Abstract><AbstractText>In one piece.</AbstractText></Abstract>"
    doc = parse(
        f"<PubmedArticleSet>{citation('5', 'First', LABELLED)}{citation('6', 'Second', plain, retracted)}"
        f"{citation('7', 'Third', '')}</PubmedArticleSet>"
    )
    assert [s.heading_path for s in doc.sections[1:]] == [
        ("First",), ("First", "Objective"), ("First", "Results"), ("Second",), ("Second", "Abstract"), ("Third",),
    ]  # fmt: skip
    assert doc.warnings == ("PMID 6 has been retracted", "1 of 3 articles have a title, but no abstract")
    assert [entry["pmid"] for entry in doc.meta["articles"]] == ["5", "6", "7"]
    assert doc.published_at is None


def test_citations_without_words() -> None:
    only = parse(f"<PubmedArticleSet>{citation('5', 'Only a title', '')}</PubmedArticleSet>")
    assert (only.text, only.warnings) == ("Only a title", ("the article has a title, but no abstract",))
    with pytest.raises(ItemError, match="without an article"):
        parse("<PubmedArticleSet></PubmedArticleSet>")
    with pytest.raises(ItemError, match="without title, abstract or body"):
        parse("<article><front/></article>")
