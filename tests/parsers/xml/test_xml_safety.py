from __future__ import annotations

import time
import tracemalloc

import pytest

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

UNKNOWN = "<a> begins no vocabulary that is known: its text is kept, headings and tables are not told"


def parse(source: str | bytes) -> ParsedDocument:
    payload = source.encode() if isinstance(source, str) else source
    item = RawItem("a.xml", "a.xml", "xml", payload=payload)
    return parser_for(item).parse(item)


def bomb(levels: int) -> str:
    declared = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE a [<!ENTITY e0 "lol">{declared}]><a>&e{levels - 1};</a>'


@pytest.mark.parametrize(
    "source",
    [
        bomb(12),
        bomb(12).encode("utf-16"),
        bomb(2),
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://example.org/x"> %x;]><a>b</a>',
        '<!DOCTYPE a [ <!-- <b ]> --> <!ENTITY y "z"> ]><a>&y;</a>',
        '<!-- <!DOCTYPE b> <b> --><!DOCTYPE a [<!ENTITY y "z">]><a k="&y;">x</a>',
    ],
)
def test_entities_are_refused_for_security(source: str | bytes) -> None:
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(ItemError, match="security") as caught:
        parse(source)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.stage == "parse"
    assert caught.value.path == "a.xml"
    assert peak < 5_000_000
    assert time.process_time() - began < 1


@pytest.mark.parametrize("encoding", ["utf-7", "hex", "rot13", "unicode_escape", "idna"])
def test_encodings_that_hide_what_they_say_are_refused(encoding: str) -> None:
    with pytest.raises(ItemError, match="security"):
        parse(f'<?xml version="1.0" encoding="{encoding}"?><a>x</a>')


def test_a_document_type_alone_is_fine_and_nothing_of_it_is_read() -> None:
    doc = parse('<!DOCTYPE a PUBLIC "-//X//EN" "file:///etc/passwd"><a>one</a>')
    assert (doc.text, doc.warnings) == ("one", (UNKNOWN,))
    assert parse('<!DOCTYPE a [<!ATTLIST a k CDATA "v">]><a>one</a>').text == "one"
    included = (
        '<a xmlns:i="http://www.w3.org/2001/XInclude"><i:include href="/etc/passwd" parse="text"/>one</a>'
    )
    assert parse(included).text == "one"


def test_named_entities_are_read_as_html_does_and_unknown_ones_kept() -> None:
    doc = parse(
        "<a>1&nbsp;&alpha;&thinsp;&le; &foo; &amp; &#945;&#x3b1;<![CDATA[ &nbsp; <b>]]><!-- &bar; --></a>"
    )
    assert doc.text == "1 α ≤ &foo; & αα &nbsp; <b>"
    assert doc.warnings == ("unknown entity &foo; kept as written", UNKNOWN)


def test_characters_that_xml_forbids_are_removed_and_counted() -> None:
    doc = parse("<a>one\x0b &#1;&#xFFFF;two&#xD800;</a>")
    assert (doc.text, doc.warnings[0]) == ("one two", "4 control characters removed")


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("UTF-8", "utf-8"), ("UTF-8", "utf-8-sig"), ("utf-16", "utf-16"), ("UTF-16LE", "utf-16-le"), ("UTF-16", "utf-16-be"),
        ("ISO-8859-1", "latin-1"), ("windows-1252", "cp1252"), ("UTF-16", "utf-8"),
    ],
)  # fmt: skip
def test_the_declared_encoding_is_followed(declared: str, encoding: str) -> None:
    source = f'<?xml version="1.0" encoding="{declared}"?>\n<a>größte Dosis</a>'
    assert parse(source.encode(encoding)).text == "größte Dosis"


def test_other_encodings() -> None:
    assert (
        parse('<?xml version="1.0" encoding="Shift_JIS"?><a>投与量</a>'.encode("shift_jis")).text == "投与量"
    )
    quoted = '<?xml version="1.0" encoding="iso-8859-1"?><a>“x”</a>'.encode("cp1252")
    assert parse(quoted).text == "“x”"
    with pytest.raises(ItemError, match="unknown encoding klingon"):
        parse('<?xml version="1.0" encoding="klingon"?><a>x</a>')
    with pytest.raises(ItemError, match="not valid euc_jp, which it declares, at byte"):
        parse(b'<?xml version="1.0" encoding="EUC-JP"?><a>\xff\xff</a>')


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("<a><b>x</a>", "not well-formed XML: line 1"), ("<a>\n<b>x</b>\n", "not well-formed XML: line 3"),
        ("<a>" * 300 + "x" + "</a>" * 300, "too deep"), ("<a>" + "x" * 10_000_001 + "</a>", "too long"),
        ("", "no content"), (" \n", "no content"), ("<a/>", "no content"), ("<a><b k='v'/> \n</a>", "no content"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(source: str, reason: str) -> None:
    with pytest.raises(ItemError, match=reason):
        parse(source)


@pytest.mark.parametrize("part", ["<!--", "<![CDATA[", "<!DOCTYPE[", "&", "&#1", "<!ENTITY"])
def test_unclosed_marks_cost_no_more_than_their_length(part: str) -> None:
    began = time.process_time()
    with pytest.raises(ItemError):
        parse("<a>" + part * 100_000)
    assert time.process_time() - began < 5


def test_an_unknown_vocabulary_is_paragraphs_in_order() -> None:
    doc = parse(
        "<a xml:lang='de'><b>one <i>two</i> three</b><row><c>four</c><c>five</c></row><d><e><f>six</f></e></d></a>"
    )
    assert doc.text == "one two three\n\nfour\n\nfive\n\nsix"
    assert [block.kind for block in doc.blocks] == ["paragraph"] * 4
    assert (doc.lang, doc.media, doc.warnings) == ("de", "xml", (UNKNOWN,))


def test_xhtml_is_read_as_a_page() -> None:
    doc = parse(
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" lang="en"><body><h1>T</h1><p>x</p></body></html>'
    )
    assert (doc.title, doc.text, doc.lang, doc.media) == ("T", "T\n\nx", "en", "html")


def test_blank_space_is_read_in_no_time() -> None:
    began = time.process_time()
    doc = parse("<a><b>one</b>" + " " * 400_000 + "<b>two</b></a>")
    assert time.process_time() - began < 2
    assert doc.text.split() == ["one", "two"]


def test_a_declaration_further_down_is_text() -> None:
    assert (
        'begins with <?xml version="1.0"?>'
        in parse('<a><![CDATA[It begins with <?xml version="1.0"?>.]]></a>').text
    )
