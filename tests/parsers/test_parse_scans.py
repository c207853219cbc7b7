"""Pages that are pictures: what becomes of them without OCR, and what the engine's words become with it.

What an engine sees is given by hand where the test is about what happens to it; the tests at the end recognise real pictures, and
are skipped without the extra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.support.pdf import Page, build
from tests.support.scans import Picture, askew, drawn, error_rate, scan, worn

from veraz.errors import ItemError
from veraz.ingest.chunkers.structure import page_of
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.nouns.scan import SeenLine, SeenWord
from veraz.providers import ocr
from veraz.providers.parsers.pdf import PdfParser
from veraz.providers.parsers.pdf.strokes import ink_of, strokes_of
from veraz.providers.parsers.pool import ParserPool
from veraz.providers.parsers.worker import Limits

needs_ocr = pytest.mark.skipif(not ocr.installed(), reason="needs pip install 'veraz[ocr]'")
WHITE = np.full((1100, 850), 255, np.uint8)

ENGLISH = (
    "The usual dose for adults is 500 mg every eight hours for seven days.",
    "Do not exceed 4 g in 24 hours; in renal failure (GFR < 30 mL/min) use half.",
    "Common side effects are nausea, headache and a mild rash on the arms.",
)
SPANISH = (
    "La dosis habitual en adultos es de 500 mg cada ocho horas, siete días.",
    "No administrar en niños menores de 12 años sin indicación del médico.",
    "¿Qué debe saber antes? Náuseas, vómitos, erupción cutánea y fiebre.",
)
FRENCH = (
    "La posologie habituelle chez l'adulte est de 500 mg toutes les huit heures.",
    "Ne pas dépasser 4 g par jour : en cas d'insuffisance rénale, 2,5 mg.",
    "Les effets indésirables fréquents sont des nausées, une fièvre, un œdème.",
)


def item(payload: bytes) -> RawItem:
    return RawItem("in/s.pdf", "s.pdf", "pdf", payload=payload)


def recognise(*pictures: Picture | None, words: Sequence[str] = ()) -> ParsedDocument:
    return PdfParser("here").parse(item(scan(pictures, words)))


def refusal(mode: ocr.OcrMode, *pictures: Picture | None) -> ItemError:
    with pytest.raises(ItemError) as caught:
        PdfParser(mode).parse(item(scan(pictures)))
    return caught.value


def tables(doc: ParsedDocument) -> list[list[str]]:
    return [doc.text[block.start : block.end].split("\n") for block in doc.blocks if block.kind == "table"]


# Without an engine


def test_a_scan_is_refused_and_the_reason_says_how_to_read_it() -> None:
    error = refusal("off", WHITE)
    assert error.reason == "no text layer: the pages are pictures; needs OCR"
    assert "[ingest] ocr = true" in (error.fix or "")
    assert "veraz[ocr]" in (error.fix or "")


def test_a_page_without_text_is_named_and_the_rest_is_read() -> None:
    doc = PdfParser("off").parse(item(scan([None, WHITE], ["Read."])))
    assert doc.text == "Read."
    assert doc.warnings == ("page 2 holds no text; needs OCR: set [ingest] ocr = true",)
    assert not doc.meta


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "installed", lambda: False)
    for mode in ("elsewhere", "here"):
        error = refusal(mode, WHITE)
        assert "not installed" in error.reason
        assert error.fix == "pip install 'veraz[ocr]'"
    doc = PdfParser("here").parse(item(scan([None, WHITE], ["Read."])))
    [warning] = doc.warnings
    assert warning.startswith("page 2 holds no text; OCR is on")
    assert "pip install 'veraz[ocr]'" in warning


def test_pages_are_left_to_a_process_that_may_recognise_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "installed", lambda: True)
    with pytest.raises(ocr.Wordless) as caught:
        PdfParser("elsewhere").parse(item(scan([WHITE, None, WHITE], ["Read."])))
    assert caught.value.pages == 2
    assert PdfParser("elsewhere").parse(item(build(Page().text(50, 90, "All text")))).text == "All text"


# With an engine whose words are given


class Given:
    """Sees the same lines in every picture of a width, none in others; places are in points of a page 600 points wide."""

    version = "given/1"

    def __init__(self, *lines: SeenLine, upright: Callable[[Picture], bool] = lambda _: True) -> None:
        self.lines = lines
        self.upright = upright
        self.read_pictures: list[tuple[int, int]] = []

    def read(self, picture: Picture) -> Sequence[SeenLine]:
        self.read_pictures.append((picture.shape[0], picture.shape[1]))
        if not self.upright(picture):
            return [replace(line, confidence=0.3) for line in self.lines]
        scale = picture.shape[1] / 600
        return [
            replace(line, corners=tuple((x * scale, y * scale) for x, y in line.corners))  # type: ignore[arg-type]
            for line in self.lines
        ]


def seen(text: str, x: float, y: float, confidence: float = 0.99, size: float = 11) -> SeenLine:
    words, whole, at = [], len(text), 0
    for word in text.split():
        words.append(SeenWord(word, at / whole, (at + len(word)) / whole))
        at += len(word) + 1
    x1, y0, y1 = x + 0.5 * size * whole, y - 0.9 * size, y + 0.4 * size
    return SeenLine(tuple(words), ((x, y0), (x1, y0), (x1, y1), (x, y1)), confidence)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[Given], Given]:
    def use(engine: Given) -> Given:
        monkeypatch.setattr(ocr, "installed", lambda: True)
        monkeypatch.setattr(ocr, "engine", lambda: engine)
        return engine

    return use


def test_pages_keep_their_numbers_and_the_revision_says_which_were_recognised(
    given: Callable[[Given], Given],
) -> None:
    given(Given(seen("Take one tablet a day.", 60, 100, 0.97)))
    doc = recognise(WHITE, None, WHITE, words=["This page was read."])
    assert doc.text == "Take one tablet a day.\n\nThis page was read.\n\nTake one tablet a day."
    assert [page_of(doc, at) for at in doc.page_starts] == [1, 2, 3]
    assert doc.warnings == ("text of pages 1, 3 was recognised, not read",)
    assert doc.meta == {"recognised": {"pages": [1, 3], "confidence": [0.97, 0.97], "engine": ocr.VERSION}}


def test_lines_without_confidence_are_left_out_and_counted(given: Callable[[Given], Given]) -> None:
    given(Given(seen("Take one tablet a day with water.", 60, 100), seen("xq ww", 60, 130, 0.4)))
    doc = recognise(WHITE)
    assert doc.text == "Take one tablet a day with water."
    assert doc.warnings[-1] == "1 line on page 1 left out: they could not be recognised"


def test_a_page_of_little_confidence_is_named(given: Callable[[Given], Given]) -> None:
    given(Given(seen("Take one tablet a day.", 60, 100, 0.7)))
    assert (
        "page 1 was recognised with little confidence (0.70): compare it with the scan"
        in recognise(WHITE).warnings
    )


def test_a_scan_that_cannot_be_made_out_is_refused(given: Callable[[Given], Given]) -> None:
    given(Given(seen("Tqke oxe tqblet", 60, 100, 0.55)))
    assert refusal("here", WHITE).reason == "a scan too poor to recognise: confidence 0.55"
    given(Given(seen("Tqke oxe tqblet", 60, 100, 0.2)))
    assert refusal("here", WHITE).reason == "a scan too poor to recognise: confidence 0.20"


def test_beside_a_page_of_text_a_poor_one_is_named_and_kept(given: Callable[[Given], Given]) -> None:
    given(Given(seen("Take one tablet", 60, 100, 0.55)))
    doc = recognise(None, WHITE, words=["Read."])
    assert "Take one tablet" in doc.text
    assert any("little confidence (0.55)" in warning for warning in doc.warnings)


def test_nothing_recognised_is_said(given: Callable[[Given], Given]) -> None:
    given(Given())
    assert refusal("here", WHITE, WHITE).reason == "no text layer, and no text was recognised on its pages"
    doc = recognise(None, WHITE, words=["Read."])
    assert doc.warnings == ("page 2 holds no text that could be recognised",)
    assert not doc.meta


def test_a_picture_of_any_size_is_bounded_before_it_is_read(given: Callable[[Given], Given]) -> None:
    engine = given(Given(seen("Take one tablet a day.", 60, 100)))
    recognise(np.full((5000, 5000), 255, np.uint8), np.full((9000, 300), 255, np.uint8))
    assert len(engine.read_pictures) == 2
    assert all(height * width <= 4_500_000 for height, width in engine.read_pictures)
    assert all(max(sides) <= 8_000 for sides in engine.read_pictures)


def test_a_page_on_its_head_is_turned_and_read_again(given: Callable[[Given], Given]) -> None:
    marked = WHITE.copy()
    marked[-60:, :] = 0  # the black edge is above when the page stands on its feet
    engine = given(
        Given(seen("Take one tablet a day.", 60, 400), upright=lambda picture: bool(picture[0].mean() < 90))
    )
    assert recognise(marked).text == "Take one tablet a day."
    assert len(engine.read_pictures) == 2


# Ink


def test_ruled_lines_are_found_where_they_are() -> None:
    ink = np.zeros((400, 600), dtype=bool)
    ink[100:102, 50:450] = ink[300, 50:450] = True
    ink[100:301, 50] = ink[100:301, 449:451] = True
    ink[150:180, 100:300] = True  # an area, no line
    found = {(s.across, round(s.at), s.low, s.high) for s in strokes_of(ink, 100, 60, 4)}
    assert found == {
        (True, 101, 50, 451), (True, 300, 50, 451), (False, 50, 100, 301), (False, 450, 100, 301),
    }  # fmt: skip


def test_ruled_lines_of_a_page_that_lies_askew_are_set_straight() -> None:
    picture = np.full((400, 600), 255, np.uint8)
    for x in range(50, 550):
        picture[100 + round(0.05 * x), x] = 0
    [stroke] = strokes_of(ink_of(picture), 100, 60, 4, slope=0.05)
    assert stroke.across
    assert abs(stroke.at - 100) <= 1.5
    assert strokes_of(ink_of(picture), 100, 60, 4) == []


def test_a_picture_of_one_shade_holds_no_ink() -> None:
    assert not ink_of(WHITE).any()
    assert not ink_of(np.zeros((9, 9), np.uint8)).any()


# With the engine


def leaflet(*paragraphs: tuple[str, ...]) -> Page:
    page, y = Page().text(60, 70, "Amoxicillin for adults", size=20, font="F2"), 110.0
    for number, lines in enumerate(paragraphs, 1):
        page.text(60, y, f"{number}. Dose and use", size=14, font="F2")
        page.lines(60, y + 22, *lines)
        y += 22 + 13 * len(lines) + 18
    return page


def pages(*made: Page) -> list[Picture]:
    return [worn(picture) for picture in drawn(build(*made))]


@needs_ocr
@pytest.mark.parametrize("lines", [ENGLISH, SPANISH, FRENCH], ids=["en", "es", "fr"])
def test_a_scan_is_read_with_its_accents(lines: tuple[str, ...]) -> None:
    [picture] = pages(Page().lines(60, 100, *lines))
    assert error_rate(" ".join(lines), recognise(picture).text) <= 0.01


@needs_ocr
def test_headings_and_paragraphs_are_those_of_the_page() -> None:
    doc = recognise(*pages(leaflet(ENGLISH, SPANISH)))
    assert [(s.level, s.heading) for s in doc.sections[1:]] == [
        (1, "Amoxicillin for adults"),
        (2, "1. Dose and use"),
        (2, "2. Dose and use"),
    ]
    first = doc.sections[2]
    assert error_rate(" ".join(ENGLISH), doc.text[first.start : first.end].split("\n\n", 1)[1]) <= 0.01


@needs_ocr
@pytest.mark.parametrize("degrees", [-2.0, 1.5])
def test_a_page_that_lies_askew_reads_the_same(degrees: float) -> None:
    [picture] = pages(leaflet(ENGLISH, FRENCH))
    doc = recognise(askew(picture, degrees))
    assert [s.level for s in doc.sections] == [0, 1, 2, 2]
    assert error_rate(" ".join((*ENGLISH, *FRENCH)), _without_headings(doc)) <= 0.02


@needs_ocr
@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_page_that_was_scanned_turned_reads_the_same(quarters: int) -> None:
    [picture] = pages(leaflet(ENGLISH, SPANISH))
    doc = recognise(np.ascontiguousarray(np.rot90(picture, quarters)))
    assert error_rate(" ".join((*ENGLISH, *SPANISH)), _without_headings(doc)) <= 0.02


@needs_ocr
def test_columns_are_read_one_after_the_other() -> None:
    left = [part for line in (*ENGLISH, *ENGLISH[::-1]) for part in _halves(line)]
    right = [part for line in (*SPANISH, *SPANISH[::-1]) for part in _halves(line)]
    [picture] = pages(Page().lines(50, 100, *left, size=10).lines(320, 100, *right, size=10))
    assert error_rate(" ".join((*left, *right)), recognise(picture).text) <= 0.02


@needs_ocr
@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_keeps_its_cells(ruled: bool) -> None:
    xs, ys = [60, 200, 320, 440], [100, 124, 148, 172, 196]
    rows = [
        ("Age", "Dose", "Maximum"),
        ("Adults", "500 mg", "4 g/day"),
        ("12 to 17 years", "250 mg", "2 g/day"),
        ("Under 12", "10 mg/kg", "60 mg/kg"),
    ]
    page = Page().lines(60, 60, *ENGLISH[:1]).cells(xs, ys, rows).lines(60, 230, *ENGLISH)
    [picture] = pages(page.grid(xs, ys) if ruled else page)
    [table] = tables(recognise(picture))
    found = [line.strip("|").split("|") for line in table if "---" not in line]
    assert [len(row) for row in found] == [3, 3, 3, 3]
    # A space between a figure and its unit is all that may be lost.
    assert [[cell.replace(" ", "") for cell in row] for row in found] == [
        [cell.replace(" ", "") for cell in row] for row in rows
    ]


@needs_ocr
async def test_scans_keep_within_the_limits_of_a_process() -> None:
    """10,000 by 10,000 pixels of one page, beside it an ordinary one."""
    [picture] = pages(Page().lines(60, 100, *ENGLISH))
    large = np.full((10_000, 10_000), 255, np.uint8)
    part = np.repeat(np.repeat(picture[:1400, :1650], 6, axis=0), 6, axis=1)
    large[: part.shape[0], : part.shape[1]] = part
    pool = ParserPool(1, Limits(), ocr=True)
    try:
        doc = await pool.parse(item(scan([large, picture])))
    finally:
        await pool.close()
    assert page_of(doc, doc.text.rindex("The usual dose")) == 2
    assert error_rate(" ".join((*ENGLISH, *ENGLISH)), doc.text) <= 0.02


@needs_ocr
def test_a_blank_scan_and_grain_hold_nothing() -> None:
    grain = np.random.default_rng(3).integers(0, 255, (2200, 1700)).astype(np.uint8)
    for picture in (worn(np.full((2200, 1700), 255, np.uint8)), grain):
        assert refusal("here", picture).reason.startswith("no text layer, and no text was recognised")


def _halves(line: str) -> tuple[str, str]:
    words = line.split()
    return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])


def _without_headings(doc: ParsedDocument) -> str:
    return " ".join(doc.text[block.start : block.end] for block in doc.blocks)
