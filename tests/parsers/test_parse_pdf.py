"""PDF files written by the tests: what stands where is known to the point."""

from __future__ import annotations

import time

import pytest
from tests.support.pdf import Page, build

from veraz.errors import ItemError
from veraz.ingest.chunkers.structure import page_of
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import parser_for

BODY = (
    "Give the tablets with a glass of water, in the morning, at least half an hour",
    "before breakfast, and have the patient stay upright for the same time after it.",
    "Patients who cannot swallow them may take the oral solution instead of tablets.",
)


def parse(payload: bytes) -> ParsedDocument:
    item = RawItem("a.pdf", "a.pdf", "pdf", payload=payload)
    return parser_for(item).parse(item)


def refusal(payload: bytes) -> ItemError:
    with pytest.raises(ItemError) as caught:
        parse(payload)
    assert caught.value.stage == "parse"
    return caught.value


def blocks(doc: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind, doc.text[block.start : block.end]) for block in doc.blocks]


def headings(doc: ParsedDocument) -> list[tuple[int, str]]:
    return [(section.level, section.heading) for section in doc.sections if section.level]


# Paragraphs


def test_the_lines_of_a_paragraph_are_one_text() -> None:
    doc = parse(build(Page().lines(50, 100, *BODY), lang="en-GB", title="Dosing guide"))
    assert blocks(doc) == [("paragraph", " ".join(BODY))]
    assert (doc.title, doc.lang, doc.media, doc.parser) == ("Dosing guide", "en", "pdf", "pdf/1")
    assert doc.page_starts == (0,)
    assert doc.warnings == ()


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - x.doc", "leaflet.pdf", "12345"])
def test_what_a_program_calls_a_file_is_no_title(title: str) -> None:
    page = Page().text(50, 60, "Care of wounds", 18).lines(50, 100, *BODY)
    assert parse(build(page, title=title)).title == "Care of wounds"


def test_of_a_drug_label_the_title_names_the_drug() -> None:
    page = Page().text(50, 60, "HIGHLIGHTS", 18).lines(50, 100, *BODY)
    notice = "These highlights do not include all the information needed. See full prescribing information for ZENTRA. "
    assert parse(
        build(page, title=f"{notice}ZENTRA tablets, for oral use Initial U.S. Approval: 1954")
    ).title == ("ZENTRA tablets, for oral use")
    assert parse(build(page, title=notice)).title == "HIGHLIGHTS"


def test_a_wide_gap_a_short_line_and_an_indent_begin_paragraphs() -> None:
    page = Page().lines(50, 100, *BODY, "Store below 25 degrees.", "Keep out of reach.")
    page.lines(50, 200, *BODY[:2]).lines(70, 226, "Indented lines begin a paragraph of their own.")
    texts = [text for _, text in blocks(parse(build(page)))]
    assert texts == [
        f"{' '.join(BODY)} Store below 25 degrees.",
        "Keep out of reach.",
        " ".join(BODY[:2]),
        "Indented lines begin a paragraph of their own.",
    ]


def test_a_paragraph_goes_on_over_a_page_break_and_pages_stay_right() -> None:
    first = Page().lines(
        50, 700, *BODY[:2], "The tablets are not to be broken or chewed, and patients who forget to"
    )
    second = Page().lines(50, 80, "take one wait for the next day.", *BODY)
    doc = parse(build(first, second))
    joined = blocks(doc)[0][1]
    assert "who forget to take one wait for the next day." in joined
    assert [page_of(doc, doc.text.index(word)) for word in ("Give", "forget to", "take one")] == [1, 1, 2]
    assert doc.text[doc.page_starts[1] :].startswith("take one wait")


def test_a_hyphen_at_the_end_of_a_line_is_dropped_only_where_it_cut_a_word() -> None:
    page = Page().lines(
        50, 100,
        "The medi-",
        "cation is a non-steroidal anti-inflammatory one; in short it is a non-",
        "steroidal agent, and its half-",
        "life is long. Some say that the half of its life is short, others do not say; the Nicht-",
        "Raucher stay as they are, and so does every word of them.",
    )  # fmt: skip
    text = " ".join(text for _, text in blocks(parse(build(page))))
    assert "The medication is a non-steroidal anti" in text
    assert "it is a non-steroidal agent" in text
    assert "its half-life is long" in text
    assert "the Nicht-Raucher stay" in text


def test_soft_hyphens_are_dropped() -> None:
    page = Page().lines(
        50, 100, "The treat#ment of hyper#", "tension is for life, as far as is known to us.", font="F4"
    )
    assert "The treatment of hypertension is for life" in parse(build(page, letters={"#": "\u00ad"})).text


# Characters


def test_nul_characters_are_removed_and_counted() -> None:
    page = Page().lines(50, 100, *BODY).text(50, 150, "speci#c", font="F4")
    doc = parse(build(page, letters={"#": "\0"}))
    assert "specic" in doc.text
    assert "\0" not in doc.text
    assert doc.warnings == ("1 NUL character on page 1 removed",)


def test_ligatures_become_letters() -> None:
    page = Page().text(50, 150, "e#ect and of$cial", font="F4")
    assert parse(build(page, letters={"#": "\ufb00", "$": "\ufb01"})).text == "effect and official"


def test_letters_written_twice_to_look_bold_are_read_once() -> None:
    page = Page().text(50, 100, "Overdose").text(50.3, 100, "Overdose").text(50, 130, "happy 1000 coffee")
    assert parse(build(page)).text == "Overdose\n\nhappy 1000 coffee"


def test_raised_and_lowered_figures_stay_apart_from_others() -> None:
    page = Page().text(50, 100, "Counts above 10").text(131, 95, "5", 7).text(137, 100, "per ml of CO")
    page.text(198.5, 103, "2", 7)
    assert parse(build(page)).text == "Counts above 10⁵ per ml of CO₂"


def test_an_invisible_text_layer_is_text() -> None:
    assert parse(build(Page().text(50, 100, "Read by OCR", mode=3))).text == "Read by OCR"


def test_right_to_left_text_is_in_logical_order() -> None:
    words = "שלום לכולם כאן"
    letters = {chr(97 + n): letter for n, letter in enumerate(sorted(set(words) - {" "}))}
    codes = {letter: code for code, letter in letters.items()} | {" ": " "}
    printed = "".join(codes[letter] for letter in reversed(words))
    assert parse(build(Page().text(50, 100, printed, font="F4"), letters=letters)).text == words


def test_a_page_of_turned_text_is_read_as_it_runs() -> None:
    page = Page()
    for n, line in enumerate(BODY):
        page.text(100 + 13 * n, 700, line, angle=90)
    assert blocks(parse(build(page))) == [("paragraph", " ".join(BODY))]


def test_text_at_the_margin_that_runs_another_way_comes_last() -> None:
    page = Page().text(30, 600, "Printed in Spain", angle=90).lines(50, 100, *BODY)
    assert blocks(parse(build(page))) == [("paragraph", " ".join(BODY)), ("paragraph", "Printed in Spain")]


# Columns


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [f"The left column says in line {n} what it has to" for n in range(12)]
    right = [f"The right column goes on in line {n} and it is" for n in range(12)]
    page = Page().text(50, 60, "A title that stands over both of the columns here", 16)
    page.lines(50, 100, *left, size=10).lines(310, 100, *right, size=10)
    doc = parse(build(page))
    assert headings(doc) == [(1, "A title that stands over both of the columns here")]
    assert [doc.text.index(line) for line in left + right] == sorted(
        doc.text.index(line) for line in left + right
    )


def test_columns_of_figures_are_read_row_by_row() -> None:
    page = Page().lines(50, 100, *BODY)
    for n, (age, dose) in enumerate(
        [
            ("Age", "Dose"),
            ("2 years", "5 mg"),
            ("6 years", "10 mg"),
            ("9 years", "15 mg"),
            ("12 years", "20 mg"),
        ]
    ):
        page.text(50, 200 + 20 * n, age, font="F1" if n else "F2").text(
            300, 200 + 20 * n, dose, font="F1" if n else "F2"
        )
    assert blocks(parse(build(page)))[-1] == (
        "table",
        "| Age | Dose |\n|---|---|\n| 2 years | 5 mg |\n| 6 years | 10 mg |\n| 9 years | 15 mg |\n| 12 years | 20 mg |",
    )


# Headings


def test_headings_by_size_weight_and_number() -> None:
    page = Page().text(50, 60, "Paracetamol", 18).text(50, 90, "1. Dosage", font="F2").lines(50, 110, *BODY)
    page.text(50, 170, "1.1 Children", font="F2").lines(50, 190, *BODY)
    page.text(50, 250, "In adults", font="F2").lines(50, 270, *BODY)
    page.text(50, 330, "2. Warnings", font="F2").lines(50, 350, *BODY)
    page.text(50, 410, "Never give it with other medicines that hold it.", font="F2")
    doc = parse(build(page))
    assert headings(doc) == [
        (1, "Paracetamol"),
        (2, "1. Dosage"),
        (3, "1.1 Children"),
        (4, "In adults"),
        (2, "2. Warnings"),
    ]
    assert doc.title == "Paracetamol"
    assert blocks(doc)[-1] == ("paragraph", "Never give it with other medicines that hold it.")


def test_bookmarks_make_headings_where_their_words_stand() -> None:
    first = Page().text(50, 90, "Contents").text(50, 110, "Storage").lines(50, 300, *BODY)
    second = Page().text(50, 90, "Storage").lines(50, 120, *BODY)
    doc = parse(build(first, second, bookmarks=[("Storage", 2), ("Nowhere", 2)]))
    assert headings(doc) == [(1, "Storage")]
    assert page_of(doc, doc.sections[1].start) == 2
    assert "Nowhere" not in doc.text


def test_lists_keep_their_items_and_depth() -> None:
    page = (
        Page()
        .lines(50, 60, *BODY)
        .text(50, 120, "• Give one tablet a day, and a second one in the evening if the")
    )
    page.text(59, 133, "pain does not go").text(50, 146, "• Stop after ten days").text(
        70, 159, "- or earlier"
    ).text(50, 172, "• See a doctor")
    text = blocks(parse(build(page)))[-1]
    assert text == (
        "list",
        "• Give one tablet a day, and a second one in the evening if the pain does not go\n"
        "• Stop after ten days\n  - or earlier\n• See a doctor",
    )


# Lists that are not marked in the text


@pytest.mark.parametrize("mark", ["dot", "ring", "square", "picture"])
def test_bullets_that_are_drawn_are_bullets(mark: str) -> None:
    page = Page().text(50, 100, "Warfarin is not for patients who have:")
    items = ("headache", "minor pain of arthritis, and take another medicine for it that", "fever")
    draw = {
        "dot": lambda x, y: page.dot(x, y),
        "ring": lambda x, y: page.dot(x, y, paint="S"),
        "square": lambda x, y: page.area(x - 2, y - 2, 4, 4, 0),
        "picture": lambda x, y: page.picture(x, y),
    }[mark]
    for n, words in enumerate(items):
        page.text(70, 120 + 20 * n + 6 * (n > 1), words)
        draw(60, 117 + 20 * n + 6 * (n > 1))
    page.text(70, 153, "thins the blood")
    page.dot(80, 185).text(90, 188, "below it")
    assert blocks(parse(build(page))) == [
        ("paragraph", "Warfarin is not for patients who have:"),
        (
            "list",
            "• headache\n• minor pain of arthritis, and take another medicine for it that thins the blood\n• fever\n"
            "  • below it",
        ),
    ]


def test_bullets_side_by_side_begin_an_item_each() -> None:
    page = Page()
    for n, (left, right) in enumerate((("nausea", "rash"), ("fever", "cough"), ("chills", "pain"))):
        page.dot(60, 117 + 15 * n).text(70, 120 + 15 * n, left)
        page.dot(260, 117 + 15 * n).text(270, 120 + 15 * n, right)
    assert blocks(parse(build(page))) == [("list", "• nausea\n• rash\n• fever\n• cough\n• chills\n• pain")]


def test_other_marks_are_no_bullets() -> None:
    page = Page().dot(60, 117).text(70, 120, "10")  # a point of a chart
    page.dot(60, 147, paint="n").text(70, 150, "Painted with nothing")
    page.area(58, 175, 4, 4, 1).text(70, 180, "White on white")
    page.dot(60, 207, 10).text(70, 210, "A box to tick")
    page.area(50, 236, 12, 2, 0).text(70, 240, "A dash")
    page.dot(20, 297).text(70, 300, "Too far away")
    assert "•" not in parse(build(page)).text


def test_lines_that_end_early_below_one_another_are_a_list() -> None:
    """Without any bullet; the width of the column is known from the lines above."""
    lines = ("are over 60 years of age", "are taking steroids", "have had a kidney transplant", "smoke")
    page = Page().lines(50, 100, *BODY).lines(70, 150, *lines)
    assert blocks(parse(build(page))) == [("paragraph", " ".join(BODY)), ("list", "\n".join(lines))]


@pytest.mark.parametrize(
    "lines",
    [
        (
            "the tablets may be taken with food or",
            "without it, but always at the same",
            "time of the day, and never together",
            "with grapefruit juice or any other",
            "juice that holds it",
        ),
        (
            "an interpretation of hypercoagulability,",
            "thromboembolic events, and",
            "atherothrombosis in patients after an",
            "operation of the heart",
        ),
    ],
)
def test_a_ragged_paragraph_in_a_narrow_measure_is_one(lines: tuple[str, ...]) -> None:
    page = Page().lines(50, 100, *BODY).lines(70, 150, *lines)
    assert blocks(parse(build(page)))[1:] == [("paragraph", " ".join(lines))]


def test_a_line_that_stands_out_begins_a_new_paragraph() -> None:
    page = Page().lines(50, 100, *BODY)
    for n, name in enumerate(("Adams", "Baker", "Clark")):
        page.text(
            50,
            160 + 39 * n,
            f"{name} J. Treatment of wounds that do not heal, and of the patients who",
        )
        page.lines(
            70,
            173 + 39 * n,
            "had been given tablets every morning for at least three months, with",
            "care.",
        )
    found = blocks(parse(build(page)))[1:]
    assert [text[:5] for _, text in found] == ["Adams", "Baker", "Clark"]


def test_rows_of_words_and_a_figure_at_the_edge_stay_apart() -> None:
    page = Page().lines(50, 100, *BODY)
    rows = (("Warnings, Calciphylaxis (5.3)", "9/2016"), ("Warnings, Acute kidney injury (5.4)", "5/2017"))
    for n, (words, day) in enumerate(rows):
        page.text(50, 160 + 13 * n, words).text(400, 160 + 13 * n, day)
    assert blocks(parse(build(page)))[1:] == [("paragraph", f"{words} {day}") for words, day in rows]


def test_titles_that_count_on_are_one_each() -> None:
    titles = (
        "2.2 Recommended Dosage in Children of 10 Years and Older with This",
        "2.3 Dosage Modifications Because of Interactions with Others",
        "3 Dosage Forms",
    )
    page = Page().lines(50, 100, *BODY).lines(50, 160, *titles)
    assert blocks(parse(build(page)))[1:] == [("paragraph", title) for title in titles]


def test_an_item_that_begins_in_bold_goes_on() -> None:
    page = (
        Page()
        .lines(50, 100, *BODY)
        .dot(60, 157)
        .text(70, 160, "If you miss a dose, call your doctor and take", font="F2")
    )
    page.text(70, 173, "the dose as soon as possible.")
    assert blocks(parse(build(page)))[1:] == [
        ("list", "• If you miss a dose, call your doctor and take the dose as soon as possible.")
    ]


def test_a_raised_star_stays_with_its_word() -> None:
    page = Page().text(50, 100, "Doses by genotype", 12.3).text(159, 96.2, "*", 10)
    page.lines(50, 120, "Those of patients who took it", "for a year.", size=12.3, step=15)
    assert parse(build(page)).text.startswith("Doses by genotype * Those")


def test_code_keeps_its_lines() -> None:
    page = (
        Page()
        .lines(50, 60, *BODY)
        .text(50, 120, "if dose:", font="F3")
        .text(76.4, 133, "give(dose)", font="F3")
    )
    assert blocks(parse(build(page)))[-1] == ("code", "if dose:\n    give(dose)")


# Running headers and footers


def _with_margins(count: int) -> list[Page]:
    pages = []
    for n in range(1, count + 1):
        page = Page().text(50, 30, "Guideline 7, second edition", 9).text(500, 30, f"June {n}", 9)
        page.lines(50, 100, *(line.replace("tablets", f"tablets {n}") for line in BODY)).text(
            290, 780, f"{n}", 9
        )
        pages.append(page)
    return pages


def test_running_headers_footers_and_page_numbers_are_left_out() -> None:
    doc = parse(build(*_with_margins(4)))
    assert "Guideline" not in doc.text
    assert doc.warnings == ("12 running headers, footers and page numbers were left out",)
    assert [text.split(" with")[0] for _, text in blocks(doc)] == [
        f"Give the tablets {n}" for n in range(1, 5)
    ]
    assert len(doc.page_starts) == 4


def test_on_two_pages_only_page_numbers_are_known() -> None:
    doc = parse(build(*_with_margins(2)))
    assert doc.text.count("Guideline 7, second edition") == 2
    assert doc.warnings == ("2 running headers, footers and page numbers were left out",)


def test_what_is_said_again_many_pages_later_stays() -> None:
    pages = [
        Page()
        .text(50, 40, "Do not store above 30 degrees." if n % 6 == 0 else f"Part {chr(65 + n)}")
        .lines(50, 100, *BODY)
        for n in range(19)
    ]
    assert parse(build(*pages)).text.count("Do not store above 30 degrees.") == 4


def test_pages_that_are_the_same_throughout_stay() -> None:
    doc = parse(build(*(Page().text(50, 60, "Take one a day.") for _ in range(4))))
    assert doc.text.count("Take one a day.") == 4


# Pages without text


def test_a_file_without_text_is_refused() -> None:
    error = refusal(build(Page().area(50, 50, 200, 200)))
    assert "no text layer" in error.reason
    assert "OCR" in error.reason
    assert "ocrmypdf" in (error.fix or "")


def test_a_blank_file_holds_no_content() -> None:
    assert refusal(build(Page(), Page())).reason == "no content"
    assert refusal(b"").reason == "no content"


def test_pages_without_text_are_named_and_blank_ones_are_not() -> None:
    pages = [
        Page().lines(50, 100, *BODY),
        Page().area(50, 50, 200, 200),
        Page(),
        Page().area(9, 9, 99, 99),
        Page().area(9, 9, 99, 99),
        Page().lines(50, 100, "The hook block must be replaced."),
    ]
    doc = parse(build(*pages))
    assert doc.warnings == ("pages 2, 4-5 hold no text; needs OCR: set [ingest] ocr = true",)
    assert page_of(doc, doc.text.index("hook block")) == 6
    assert page_of(doc, 0) == 1


def test_annotations_are_not_text_and_are_counted() -> None:
    page = Page(note="A remark of a reader").lines(50, 100, *BODY)
    doc = parse(build(page))
    assert "remark" not in doc.text
    assert doc.warnings == ("1 annotation or form field on page 1 left out",)


# Damage


@pytest.mark.parametrize("catalog", [b"/Catalog", b"/Gone---"])
def test_a_file_that_is_cut_short_is_read_as_far_as_it_goes(catalog: bytes) -> None:
    whole = build(Page().lines(50, 100, *BODY), Page().lines(50, 100, "Second page of it."))
    doc = parse(whole[: whole.index(b"(Second page") - 10].replace(b"/Catalog", catalog))
    assert blocks(doc) == [("paragraph", " ".join(BODY))]
    assert doc.warnings[0] == "the file is damaged: what could be read was read"
    assert len(doc.page_starts) == 2


@pytest.mark.parametrize(
    "payload", [b"%PDF-1.7\n" + b"\xff" * 500, b"%PDF-1.4\ntrailer << /Root 1 0 R >>\n%%EOF"]
)
def test_what_is_no_pdf_beyond_its_first_line_is_refused(payload: bytes) -> None:
    error = refusal(payload)
    assert error.reason == "the file is damaged: no page can be found in it"
    assert error.fix


def test_what_lost_all_its_words_is_refused() -> None:
    whole = build(Page().lines(50, 100, *BODY))
    assert refusal(whole[: whole.index(b"stream")]).reason == "the file is damaged: no page can be read"


def test_places_far_off_the_page_cost_nothing() -> None:
    page = (
        Page()
        .lines(50, 100, *(f"{line} {n}" for n in range(20) for line in BODY))
        .text(5_000_000, 100, "Far away")
    )
    began = time.process_time()
    assert "Far away" in parse(build(page)).text
    assert time.process_time() - began < 2


# Tables


def test_a_ruled_table_below_its_caption() -> None:
    xs, ys = (50, 150, 250, 350), (120, 140, 160, 180)
    page = Page().text(50, 110, "Table 1. Doses by age").grid(xs, ys)
    page.cells(xs, ys, [["Age", "Dose", "Times"], ["2-5", "5 mg", "2"], ["6-11", "", "1"]])
    doc = parse(build(page))
    assert blocks(doc)[-1] == (
        "table",
        "| Age | Dose | Times |\n|---|---|---|\n| 2-5 | 5 mg | 2 |\n| 6-11 |  | 1 |",
    )
    caption = doc.blocks[-1].caption
    assert caption is not None
    assert doc.text[caption.start : caption.end] == "Table 1. Doses by age"


def test_cells_that_span_rows_and_columns_stand_in_each() -> None:
    page = Page()
    for y in (100, 140, 180):
        page.rule(50, y, 350, y)
    page.rule(150, 120, 350, 120).rule(150, 160, 350, 160)
    page.rule(50, 100, 50, 180).rule(150, 100, 150, 180).rule(350, 100, 350, 180).rule(250, 120, 250, 180)
    page.text(60, 124, "Age", font="F2").text(210, 114, "Dose in mg", font="F2")
    page.text(160, 134, "first", font="F2").text(260, 134, "later", font="F2")
    page.text(60, 164, "2-5").text(160, 154, "10").text(260, 154, "5").text(160, 174, "20").text(
        260, 174, "15"
    )
    assert blocks(parse(build(page))) == [
        (
            "table",
            "| Age | Dose in mg | Dose in mg |\n| Age | first | later |\n|---|---|---|\n| 2-5 | 10 | 5 |\n| 2-5 | 20 | 15 |",
        )
    ]


def test_a_table_that_goes_on_on_the_next_page_is_one() -> None:
    xs = (50, 150, 250)
    top, below = (700, 720, 740, 760), (60, 80, 100, 120)
    first = (
        Page()
        .lines(50, 100, *BODY)
        .grid(xs, top)
        .cells(xs, top, [["Age", "Dose"], ["2", "5 mg"], ["3", "6 mg"]])
    )
    second = (
        Page()
        .grid(xs, below)
        .cells(xs, below, [["Age", "Dose"], ["4", "7 mg"], ["5", "8 mg"]])
        .lines(50, 200, *BODY)
    )
    doc = parse(build(first, second))
    kinds = [kind for kind, _ in blocks(doc)]
    assert kinds == ["paragraph", "table", "paragraph"]
    assert (
        blocks(doc)[1][1]
        == "| Age | Dose |\n|---|---|\n| 2 | 5 mg |\n| 3 | 6 mg |\n| 4 | 7 mg |\n| 5 | 8 mg |"
    )
    assert [page_of(doc, doc.text.index(cell)) for cell in ("6 mg", "7 mg")] == [1, 2]
    assert page_of(doc, doc.blocks[2].start) == 2


def test_tables_with_other_columns_are_two() -> None:
    first = (
        Page()
        .grid((50, 150, 250), (700, 720, 740, 760))
        .cells((50, 150), (700, 720, 740), [["Age", "Dose"], ["2", "5 mg"], ["3", "6 mg"]])
    )
    second = (
        Page()
        .grid((50, 180, 250), (60, 80, 100, 120))
        .cells((50, 180), (60, 80, 100), [["Age", "Risk"], ["4", "7"], ["5", "8"]])
    )
    assert [kind for kind, _ in blocks(parse(build(first, second)))] == ["table", "table"]


def test_coloured_areas_make_a_table_where_no_lines_are_drawn() -> None:
    page = Page()
    for row, grey in enumerate((0.6, 0.8, 0.9)):
        for column in range(3):
            page.area(50 + 100 * column, 100 + 20 * row, 100, 20, grey)
    page.cells(
        (50, 150, 250),
        (100, 120, 140),
        [["Age", "Dose", "Times"], ["2-5", "5 mg", "2"], ["6-11", "7 mg", "1"]],
    )
    assert blocks(parse(build(page)))[0][1].splitlines()[2] == "| 2-5 | 5 mg | 2 |"


def test_a_body_without_lines_between_its_rows_is_cut_by_its_figures() -> None:
    page = Page()
    for y in (100, 120, 180):
        page.rule(50, y, 350, y)
    for x in (50, 150, 250, 350):
        page.rule(x, 100, x, 180)
    page.cells((50, 150, 250), (100,), [["State", "Men", "Women"]])
    for n, row in enumerate([("Kerala", "7.2", "0.5"), ("Orissa", "33.2", "1.0"), ("Gujarat", "28.6", "-")]):
        for x, cell in zip((54, 154, 254), row, strict=True):
            page.text(x, 134 + 18 * n, cell)
    assert blocks(parse(build(page)))[0][1].splitlines()[2:] == [
        "| Kerala | 7.2 | 0.5 |",
        "| Orissa | 33.2 | 1.0 |",
        "| Gujarat | 28.6 | - |",
    ]


def test_a_frame_around_text_is_no_table() -> None:
    page = Page().grid((40, 560), (80, 150)).lines(50, 100, *BODY)
    assert blocks(parse(build(page))) == [("paragraph", " ".join(BODY))]


def test_turned_words_in_a_cell_stay_in_it() -> None:
    xs, ys = (50, 150, 250), (100, 180, 200, 220)
    page = Page().grid(xs, ys).text(100, 170, "Weight", font="F2", angle=90).text(160, 150, "Dose", font="F2")
    page.text(60, 194, "10 kg").text(160, 194, "5 mg").text(60, 214, "20 kg").text(160, 214, "9 mg")
    assert blocks(parse(build(page))) == [
        ("table", "| Weight | Dose |\n|---|---|\n| 10 kg | 5 mg |\n| 20 kg | 9 mg |")
    ]


def test_more_lines_than_are_worth_reading_are_said() -> None:
    page = Page().lines(50, 100, *BODY)
    for n in range(13_000):
        page.rule(10, 300 + n * 0.01, 20, 300 + n * 0.01)
    doc = parse(build(page))
    assert doc.warnings == ("page 1: too much is drawn to look for ruled tables",)
    assert blocks(doc)[0] == ("paragraph", " ".join(BODY))


def test_offsets_are_places_in_the_text() -> None:
    doc = parse(build(*_with_margins(4)))
    assert doc.sections[0].start == 0
    assert doc.sections[-1].end == len(doc.text)
    assert all(0 <= block.start < block.end <= len(doc.text) for block in doc.blocks)
    assert list(doc.page_starts) == sorted(doc.page_starts)
