from __future__ import annotations

from datetime import date
from pathlib import Path

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.xml import XmlParser


def parse(source: str | bytes) -> ParsedDocument:
    payload = source.encode() if isinstance(source, str) else source
    return XmlParser().parse(RawItem("a.xml", "a.xml", "xml", payload=payload))


def test_items_of_rss_are_sections() -> None:
    doc = parse(
        '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/">'
        "<channel><title>Alerts &amp;amp; news</title>"
        "<link>https://example.org/</link><description>All of them</description><language>de-DE</language>"
        "<lastBuildDate>Mon, 09 Dec 2024 20:26:59 +0000</lastBuildDate>"
        "<item><title>One</title><description>short</description><pubDate>Tue, 19 Nov 2024 13:30:02 +0000</pubDate>"
        "<content:encoded><![CDATA[<h2>Dose</h2><p>10<sup>5</sup>&nbsp;IE</p><script>x()</script>]]></content:encoded></item>"
        "<item><title>Two</title><description>&lt;p&gt;plain &amp;lt; 5&lt;/p&gt;</description></item></channel></rss>"
    )
    assert doc.text == "All of them\n\nOne\n\nDose\n\n10⁵\xa0IE\n\nTwo\n\nplain < 5"
    assert [(s.level, s.heading) for s in doc.sections[1:]] == [(1, "One"), (3, "Dose"), (1, "Two")]
    assert (doc.title, doc.lang, doc.url) == ("Alerts & news", "de", "https://example.org/")
    assert doc.meta["section_dates"] == {"1": "2024-11-19"}
    assert doc.revised_at is None


def test_entries_of_atom_are_sections() -> None:
    doc = parse(
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>F</title><updated>2024-05-06T07:08:09Z</updated>'
        '<link rel="self" href="https://example.org/f"/><link href="https://example.org/"/>'
        '<entry><title type="html">A &lt;b&gt;B&lt;/b&gt;</title><updated>2024-05-05T00:00:00Z</updated>'
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x</p><p>y</p></div></content></entry>'
        '<entry><title>C</title><summary type="text">1 &lt; 2</summary></entry></feed>'
    )
    assert doc.text == "A B\n\nx\n\ny\n\nC\n\n1 < 2"
    assert (doc.title, doc.lang, doc.url, doc.revised_at) == (
        "F",
        "en",
        "https://example.org/",
        date(2024, 5, 6),
    )
    assert (doc.media, doc.meta["section_dates"]) == ("atom", {"1": "2024-05-05"})


def test_items_of_rss_1_stand_beside_the_channel() -> None:
    doc = parse(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        "<channel><title>F</title></channel><item><title>A</title><description>x</description></item></rdf:RDF>"
    )
    assert (doc.title, doc.text) == ("F", "A\n\nx")


def test_a_real_feed(shared: Path) -> None:
    doc = parse((shared / "data/hard_ingest/markitdown/test_rss.xml").read_bytes())
    assert (doc.title, doc.lang) == ("The Official Microsoft Blog", "en")
    assert len([s for s in doc.sections if s.level == 1]) == 10
    assert doc.sections[1].heading.startswith("Ignite 2024: Why nearly 70% of the Fortune 500")
    assert "<p>" not in doc.text
    assert doc.meta["section_dates"]["1"] == "2024-11-19"
