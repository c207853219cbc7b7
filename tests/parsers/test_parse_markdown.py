from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ItemError
from veraz.nouns.corpus import Access, ParsedDocument, RawItem
from veraz.providers.parsers import parser_for


def parse(text: str | bytes, name: str = "a/doc.md") -> ParsedDocument:
    payload = text.encode() if isinstance(text, str) else text
    item = RawItem(f"/in/{name}", name, "markdown", payload=payload)
    return parser_for(item).parse(item)


def blocks(doc: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, doc.text[block.start : block.end]) for block in doc.blocks]


def paths(doc: ParsedDocument) -> list[tuple[str, ...]]:
    return [section.heading_path for section in doc.sections]


def test_headings_make_a_tree() -> None:
    doc = parse("before\n\n# A\n\n## B\n\ntext\n\n#### C *em* `x`\n\n## B\n\nSetext\n===\n")
    assert paths(doc) == [(), ("A",), ("A", "B"), ("A", "B", "C em x"), ("A", "B"), ("Setext",)]
    assert [s.parent for s in doc.sections] == [None, 0, 1, 2, 1, 0]
    assert [s.level for s in doc.sections] == [0, 1, 2, 4, 2, 1]
    assert doc.title == "A"
    assert doc.parser == "markdown/2"
    assert doc.blocks[0].section == 0
    assert doc.blocks[1].section == 2


def test_a_heading_inside_a_fence_list_or_quotation_is_content(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_fence.md").read_bytes())
    assert paths(doc) == [(), ("Backup guide",), ("Backup guide", "Restore")]
    doc = parse(
        "- # in a list\n\n> # in a quote\n\n~~~\n# in a fence\n~~~\n\n    # in code\n\n<!--\n# comment\n-->\n"
    )
    assert paths(doc) == [()]
    assert [kind for kind, _ in blocks(doc)] == ["list", "quote", "code", "code"]


def test_blocks_keep_their_source() -> None:
    doc = parse(
        "# H\nglued text\n\n- a\n  - b\n\n1. c\n\n> q\n\n    code\n      more\n\n---\n\n"
        "<div>html</div>\n\n[ref]: http://x.org\n"
    )
    assert blocks(doc) == [
        ("paragraph", "glued text"),
        ("list", "- a\n  - b"),
        ("list", "1. c"),
        ("quote", "> q"),
        ("code", "    code\n      more"),
        ("paragraph", "<div>html</div>"),
        ("paragraph", "[ref]: http://x.org"),
    ]


def test_a_table_below_its_heading_with_two_header_rows(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_wide_table.md").read_bytes())
    kinds = blocks(doc)
    assert paths(doc)[-1] == ("Report", "Regional breakdown")
    assert [kind for kind, _ in kinds[:2]] == ["paragraph", "table"]
    assert kinds[1][1].startswith("| Unit | 2023 |")
    assert "\n| | Q1 net |" in kinds[1][1]


def test_words_above_a_glued_table_stay_a_paragraph() -> None:
    doc = parse("Doses a day:\n| upper | row |\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert blocks(doc) == [
        ("paragraph", "Doses a day:"),
        ("table", "| upper | row |\n| a | b |\n|---|---|\n| 1 | 2 |"),
    ]


def test_front_matter_is_read_and_is_no_text() -> None:
    doc = parse(
        "---\r\ntitle: 'Metformin: dose'\r\nlang: en-GB\r\ndate: 2024-01-02\r\n"
        "revised_at: 2024-03-01\r\nvalid_from: 20240401\r\n"
        "license: CC0\r\nacl: [staff, nurses]\r\nsupersedes: old.md\r\n"
        "document_type: guideline\r\n# comment\r\nowner: me\r\n"
        "tags:\r\n  - a\r\n  - b\r\nurl: https://x.org/a:b\r\n---\r\n# H\r\n\r\nText."
    )
    assert doc.text == "# H\r\n\r\nText."
    assert (doc.title, doc.lang, doc.license, doc.access) == (
        "Metformin: dose",
        "en",
        "CC0",
        Access(("staff", "nurses")),
    )
    assert (doc.revised_at, doc.valid_from) == (date(2024, 3, 1), date(2024, 4, 1))
    assert (doc.supersedes, doc.document_type, doc.url) == ("old.md", "guideline", "https://x.org/a:b")
    assert doc.meta == {"owner": "me", "tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("", "H"),
        ('""', "H"),
        ("[Draft]", "[Draft]"),
        ("'[Draft] Doses'", "[Draft] Doses"),
        ("  a \t b ", "a b"),
    ],
)
def test_a_title_is_the_text_that_is_written(written: str, title: str) -> None:
    assert parse(f"---\ntitle: {written}\nlang: en\n---\n# H\n\nText.").title == title


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("revised_at: March 2024", "field revised_at: 'March 2024' is not a date: write YYYY-MM-DD"),
        ("published_at: 2024-03", "has no day"),
        ("a: 1\nnonsense", "line 3 is not `key: value`: 'nonsense'"),
        ("a: 1\na: 2", "line 3 repeats a key"),
        ("title:\n  - a\n  - b", "field title: text is expected"),
        ("acl: []", "field acl"),
        ("acl:", "field acl: no label in it"),
        ("acl: null", "field acl: no label in it"),
        ("acl: {a: b}", "field acl: a list of labels"),
        ("access: hr", "field access: who may read"),
        ("readable_until: 2020-01-01", "field readable_until: who may read"),
        ("acl_rule: all", "field acl_rule: who may read"),
        ("owner: [a]", "field owner: who may read"),
        ("valid_from: 2024-02-01\nvalid_to: 2024-01-01", "before valid_from"),
    ],
)
def test_bad_front_matter_is_named(front: str, why: str) -> None:
    with pytest.raises(ItemError) as caught:
        parse(f"---\n{front}\n---\ntext")
    assert why in str(caught.value)
    assert (caught.value.path, caught.value.external_id, caught.value.stage) == (
        "/in/a/doc.md",
        "a/doc.md",
        "parse",
    )
    assert caught.value.fix


@pytest.mark.parametrize(
    "text", ["---\n\nText.\n\n---\n", "---\nJust words here\n---\n", "---\ntitle: open\n\nText."]
)
def test_a_thematic_break_is_no_front_matter(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize(
    "payload", [b"", b" \n\t\n", b"\xef\xbb\xbf \n", b"\x00\x00", b"---\ntitle: x\n---\n  \n", b"---\n***\n"]
)
def test_nothing_to_read_is_an_error(payload: bytes) -> None:
    with pytest.raises(ItemError, match="no content"):
        parse(payload)


def test_a_file_without_headings_is_called_by_its_name() -> None:
    assert parse("text", "guides/store-it.md").title == "store-it"


@given(
    st.lists(
        st.sampled_from(
            [
                "# A",
                "## B",
                "text",
                "- i",
                "> q",
                "```",
                "| a | b |",
                "|---|---|",
                "---",
                "",
                "    x",
                "\t",
                "===",
            ]
        )
    )
)
def test_sections_partition_the_text_and_blocks_lie_inside(rows: list[str]) -> None:
    for end in ("\n", "\r\n", "\r"):
        text = end.join([*rows, "end"])
        doc = parse(text)
        at = 0
        for ord_, section in enumerate(doc.sections):
            assert (section.ord, section.start) == (ord_, at)
            at = section.end
        assert at == len(doc.text)
        last = 0
        for block in doc.blocks:
            section = doc.sections[block.section]
            assert max(section.start, last) <= block.start < block.end <= section.end
            last = block.end


@pytest.mark.parametrize(
    "text",
    [
        ">" * 20_000 + " deep",
        "- " * 5_000 + "deep",
        "[" * 50_000,
        "*" * 50_000 + "a",
        "`" * 50_000,
        "word " * 200_000,
    ],
)
def test_hostile_markdown_ends(text: str) -> None:
    assert parse(text).blocks
