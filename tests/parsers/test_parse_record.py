from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from veraz.errors import ItemError
from veraz.nouns.corpus import Access, ParsedDocument, RawItem
from veraz.providers.parsers import parser_for


def parse(**record: Any) -> ParsedDocument:
    item = RawItem("c.jsonl", "r1", "record", record={"id": "r1", **record}, line=7)
    return parser_for(item).parse(item)


def test_fields_have_their_places_and_the_rest_is_meta() -> None:
    doc = parse(
        title=" A\ntitle ", text="Words.", url="https://x.org", lang="spa", source="NIH", date="20170111",
        published_at="2016-01-01",
        license="CC0", jurisdiction="US", supersedes="r0", acl=["a", "b"], document_type="leaflet",
        cui=["C1"], nested={"k": [1, None]},
        category=None,
    )  # fmt: skip
    assert (doc.title, doc.url, doc.lang, doc.publisher) == ("A title", "https://x.org", "es", "NIH")
    assert (doc.revised_at, doc.published_at) == (date(2017, 1, 11), date(2016, 1, 1))
    assert (doc.license, doc.jurisdiction, doc.supersedes, doc.access) == (
        "CC0",
        "US",
        "r0",
        Access(("a", "b")),
    )
    assert (doc.document_type, doc.media, doc.parser) == ("leaflet", "record", "record/1+plain/3")
    assert doc.meta == {"cui": ["C1"], "nested": {"k": [1, None]}, "category": None}
    assert doc.text == "Words."


def test_a_named_revision_date_wins_over_a_plain_date() -> None:
    assert parse(text="x", revised_at="2024-02-02", date="2020-01-01").revised_at == date(2024, 2, 2)
    assert parse(text="x", date="2020-01-01", revision_date="2024-02-02").revised_at == date(2024, 2, 2)


def test_the_format_chooses_the_parser() -> None:
    assert parse(text="# A\n\nx").sections[-1].ord == 0
    assert parse(text="# A\n\nx", format="markdown").sections[-1].heading_path == ("A",)
    doc = parse(text="<h1>A</h1><p>x &amp; y", format="html")
    assert (doc.text, doc.title) == ("A\n\nx & y", "A")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "no field text"),
        ({"text": None}, "no field text"),
        ({"text": 5}, "int where a string"),
        ({"text": " \n\x00"}, "no content"),
        ({"text": "<p></p>", "format": "html"}, "no content"),
        ({"text": "x", "format": "pdf"}, "field format: 'pdf' is unknown"),
        ({"text": "x", "title": ["t"]}, "field title"),
        ({"text": "x", "date": "2024-03"}, "field date: '2024-03' has no day"),
        ({"text": "x", "date": True}, "field date"),
        ({"text": "x", "acl": "  "}, "field acl"),
        ({"text": "x", "acl": [1]}, "field acl"),
        ({"text": "x", "acl": None}, "field acl: no label in it"),
        ({"text": "x", "acl": "{a: b}"}, "field acl"),
        ({"text": "x", "acl": {"a": "b"}}, "field acl: 'a' is unknown"),
        ({"text": "x", "acl": "a", "ACL": "b"}, "field acl: stated twice"),
        ({"text": "x", "access": "hr"}, "field access: who may read"),
        ({"text": "x", "Access-Labels": ["hr"]}, "field Access-Labels: who may read"),
        ({"text": "x", "aclRule": "all"}, "field aclRule: who may read"),
        ({"text": "x", "readable_from": "soon"}, "field readable_from: who may read"),
        ({"text": "x", "owner": ["ana"]}, "field owner: who may read"),
        ({"text": "x", "url": {"a": 1}}, "field url"),
        ({"text": "x", "n": float("inf")}, "field n: a number is not finite"),
    ],
)
def test_bad_fields_are_named_with_line_and_fix(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ItemError) as caught:
        parse(**fields)
    assert why in caught.value.reason
    assert (caught.value.path, caught.value.external_id, caught.value.stage) == ("c.jsonl:7", "r1", "parse")
    assert caught.value.fix


def test_what_cannot_be_stored_is_cleaned_everywhere() -> None:
    doc = parse(text="a\x00b \ud83d\ude00", title="t\x00", url="u\x00", note={"k\x00": "v\ud800"})
    assert (doc.text, doc.title, doc.url, doc.meta) == ("ab 😀", "t", "u", {"note": {"k": "v\ufffd"}})
    assert doc.warnings == ("1 NUL character removed",)


def test_an_odd_language_is_left_open_and_said() -> None:
    doc = parse(text="x", lang="english")
    assert doc.lang is None
    assert "english" in doc.warnings[0]


@pytest.mark.parametrize("name", ["acl", "ACL", "Acl", " acl"])
def test_access_is_read_however_its_name_is_written(name: str) -> None:
    doc = parse(text="x", **{name: "hr"})
    assert (doc.access, doc.meta, doc.warnings) == (Access(("hr",)), {}, ())


@pytest.mark.parametrize("name", ["labels", "permissions", "Visibility", "confidential", "owner"])
def test_a_name_that_may_mean_access_and_does_not_give_it_is_said(name: str) -> None:
    doc = parse(text="x", **{name: "hr"})
    assert (doc.access, doc.meta) == (None, {name: "hr"})
    assert doc.warnings == (f"field {name} does not restrict who may read: acl does",)
    assert parse(text="x", acl="hr", **{name: "hr"}).warnings == ()


@pytest.mark.parametrize("name", ["access_date", "accession", "accessed", "readability", "aclaraciones"])
def test_names_that_only_look_alike_are_kept_in_silence(name: str) -> None:
    doc = parse(text="x", **{name: "y"})
    assert (doc.meta, doc.warnings) == ({name: "y"}, ())
