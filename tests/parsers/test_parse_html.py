from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for


def parse(page: str | bytes) -> ParsedDocument:
    payload = page.encode() if isinstance(page, str) else page
    item = RawItem("a.html", "a.html", "html", payload=payload)
    return parser_for(item).parse(item)


def blocks(doc: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, doc.text[block.start : block.end]) for block in doc.blocks]


def test_the_head_is_read() -> None:
    doc = parse(
        '<html lang="pt-BR"><head><title>Dose &amp; care</title>'
        '<link rel="canonical" href="https://x.org/a"></head><p>Text'
    )
    assert (doc.title, doc.lang, doc.url, doc.text) == ("Dose & care", "pt", "https://x.org/a", "Text")
    assert parse("<h2>Second</h2><h1>First</h1><p>x").title == "First"


def test_what_is_not_read() -> None:
    page = (
        "<header>logo</header><nav>menu</nav><main><header><h1>Title</h1></header><p>kept<script>x()</script>"
        "<style>p{}</style><template>t</template><span hidden>h</span><b aria-hidden='true'>a</b>"
        "<i style='color:red; DISPLAY : none'>d</i><button>b</button></p></main>"
        "<aside>aside</aside><footer>foot</footer>"
    )
    doc = parse(page)
    assert doc.text == "Title\n\nkept"
    assert doc.sections[1].heading == "Title"


def test_inline_text_joins_as_a_browser_shows_it() -> None:
    doc = parse("<p>0.<b>5</b>&nbsp;mg,\n  <i>twice</i> a <a>day</a>.<br>Not more.</p>loose <em>end</em>")
    assert blocks(doc) == [("paragraph", "0.5\xa0mg, twice a day.\nNot more."), ("paragraph", "loose end")]


def test_lists_quotations_code() -> None:
    doc = parse(
        "<ul><li>one<ol start=3><li>three<li><p>four</p><p>more</p></ol><li>two</ul><dl><dt>T<dd>D</dl>"
        "<blockquote><p>Q</p></blockquote><pre>  a &lt; b\n    c\n</pre>"
    )
    assert blocks(doc) == [
        ("list", "- one\n  3. three\n  4. four\n    more\n- two"),
        ("list", "- T\n  D"),
        ("quote", "Q"),
        ("code", "  a < b\n    c"),
    ]


def test_the_header_of_a_section_holds_its_heading() -> None:
    doc = parse(
        "<section><header><h1>Logo</h1><nav>menu</nav></header><section><header><h2>Dosage</h2><p>of adults</p></header>"
        "<p>5 mg</p><footer>printed by x</footer></section></section><header><h2>Site</h2></header>"
    )
    assert doc.text == "Dosage\n\nof adults\n\n5 mg"
    assert [s.heading for s in doc.sections] == ["", "Dosage"]


def test_tables_become_pipes_with_all_their_header_rows() -> None:
    doc = parse(
        "<table><caption>Doses</caption><thead><tr><th rowspan=2>Drug<th colspan=2>2023</tr><tr>"
        "<th>Q1<th>Q2</tr></thead>"
        "<tr><td rowspan=2>A<td>1|2<td><p>3</p><p>x</p></tr><tr><td>4</tr></table>"
    )
    assert blocks(doc) == [
        ("paragraph", "Doses"),
        (
            "table",
            "| Drug | 2023 | 2023 |\n| Drug | Q1 | Q2 |\n|---|---|---|\n| A | 1\\|2 | 3 x |\n| A | 4 |  |",
        ),
    ]


def test_a_layout_table_and_a_layout_list_are_not_shown_as_such() -> None:
    doc = parse(
        "<table><tr><td><h2>H</h2><p>text</td><td>right</td></tr></table><ul><li><h3>I</h3>words</ul>"
    )
    assert [s.heading for s in doc.sections] == ["", "H", "I"]
    assert blocks(doc) == [("paragraph", "text"), ("paragraph", "right"), ("paragraph", "words")]


def test_nested_divs_cost_nothing(shared: Path) -> None:
    doc = parse((shared / "cases/files/h_deep.html").read_bytes())
    assert len(blocks(doc)) == 1


@pytest.mark.parametrize("tag", ["div", "ul><li", "blockquote", "table><tr><td", "b", "dl><dd", "h1"])
def test_depth_is_linear_and_safe(tag: str) -> None:
    began = time.process_time()
    doc = parse(f"<{tag}>" * 5000 + "deep sentence.")
    assert "deep sentence." in doc.text
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "page", ["", "   ", "<nav>menu</nav>", "<script>x</script>", "<html><body></body></html>"]
)
def test_a_page_without_text_is_an_error(page: str) -> None:
    with pytest.raises(ItemError, match="no content"):
        parse(page)


_TAGS = ["p", "h1", "ul", "table", "pre", "blockquote"]
_PART = st.sampled_from(
    [
        *(f"<{tag}>" for tag in [*_TAGS, "li", "tr", "td", "th colspan=3 rowspan=2", "br"]),
        *(f"</{tag}>" for tag in _TAGS),
        *("word ", " 0.5", "\n", "&amp;", "&#0;", "|"),
    ]
)


@given(st.lists(_PART, max_size=40))
def test_blocks_and_headings_hold_all_of_the_text(parts: list[str]) -> None:
    doc = parse("".join(parts) + "</pre></table><p>end</p>")
    at, left = 0, []
    for section in doc.sections:
        assert section.start == at
        at = section.end
    assert at == len(doc.text)
    at = 0
    for block in doc.blocks:
        assert at <= block.start < block.end
        left.append(doc.text[at : block.start])
        at = block.end
    left.append(doc.text[at:])
    words = "".join("".join(left).split())
    assert words == "".join("".join(section.heading.split()) for section in doc.sections)
