"""Tables in chunks: no cell without the names of its row and columns, in what is shown and in what is embedded."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.chunking import chunk_document

from veraz.nouns.corpus import Chunk, ParsedDocument, RawItem
from veraz.providers.parsers import parser_for
from veraz.providers.parsers.file import document
from veraz.providers.parsers.grid import Cell, Grid, lay_out
from veraz.providers.parsers.writing import Writer
from veraz.text.tables import Table, read_table

_TOKEN = re.compile(r"\w{1,4}|[^\w\s]")


def count(texts: Sequence[str]) -> list[int]:
    assert all(text.strip() for text in texts)
    return [4 + len(_TOKEN.findall(text)) for text in texts]


def parse(text: str, media: str = "markdown") -> ParsedDocument:
    item = RawItem("doc.x", "doc", media, payload=text.encode())  # type: ignore[arg-type]
    return parser_for(item).parse(item)


def chunks_of(doc: ParsedDocument, limit: int = 448) -> tuple[Chunk, ...]:
    return chunk_document(doc, source_name="Handbook", limit=limit, count_tokens=count, lang="en")


def table(*rows: str) -> Table:
    text = "\n".join(rows)
    return read_table(text, 0, len(text))


def sentences(*rows: str) -> list[str]:
    read = table(*rows)
    return [read.sentence(at) for at in range(len(read.rows))]


# Random tables


@dataclass(frozen=True)
class Plan:
    """A table to be made: `words` are its columns without figures, `merged` header and body cells that take two columns,
    `labels` how many rows each row label spans, `long` the length of every seventh cell in words."""

    rows: int
    columns: int
    headers: int
    words: frozenset[int]
    merged: frozenset[int]
    labels: int
    groups: int
    blank: int
    long: int
    caption: str


def spelled(number: int, *, words: bool) -> str:
    """A word that nothing else in the table holds: of letters alone, or with figures."""
    letters = ""
    for digit in str(number):
        letters += "abcdefghij"[int(digit)]
    return f"q{letters}" if words else f"v{number}z"


def cells_of(plan: Plan) -> list[Cell]:
    width, cells = plan.columns, []
    for row in range(plan.headers):
        column = 0
        while column < width:
            wide = 2 if row < plan.headers - 1 and column in plan.merged and column + 1 < width else 1
            blank = row == plan.headers - 1 and plan.blank and column % plan.blank == 2
            text = "" if blank else f"head{spelled(row * 100 + column, words=True)}"
            cells.append(Cell(row, column, text, 1, wide, header=True))
            column += wide
    for n in range(plan.rows):
        cells += _body_row(plan, n)
    return cells


def _body_row(plan: Plan, n: int) -> list[Cell]:
    row, width = plan.headers + n, plan.columns
    if plan.groups and n % plan.groups == 0 and width > 1 and n + 1 < plan.rows:
        return [Cell(row, 0, f"group{spelled(n, words=True)} part", 1, width)]
    label = n // plan.labels * plan.labels
    cells = [Cell(row, 0, f"row{spelled(label, words=0 in plan.words)}")]
    column = 1
    while column < width:
        wide = 2 if column in plan.merged and column + 1 < width and n % 3 == 1 else 1
        number = 1000 + n * width + column
        length = plan.long if number % 7 == 0 else 1
        words = [spelled(number * 100 + at, words=column in plan.words) for at in range(length)]
        blank = plan.blank and n and column > 1 and number % plan.blank == 1  # a label alone names a group
        cells.append(Cell(row, column, "" if blank else " ".join(words), 1, wide))
        column += wide
    return cells


def plans(rows: st.SearchStrategy[int], longest: int) -> st.SearchStrategy[Plan]:
    columns = st.frozensets(st.integers(0, 7), max_size=4)
    some = st.sampled_from([0, 4, 5, 9])
    long = st.sampled_from([1, 3, longest])
    caption = st.sampled_from(["", "Table 4. Amounts in mg"])
    made = st.builds(
        Plan,
        rows,
        st.integers(1, 8),
        st.integers(0, 3),
        columns,
        columns,
        st.integers(1, 3),
        some,
        some,
        long,
        caption,
    )
    # Without header a first row of words over figures would be one.
    return made.map(lambda plan: plan if plan.headers else Plan(**{**plan.__dict__, "words": frozenset()}))


def written(grid: Grid, caption: str) -> ParsedDocument:
    writer = Writer()
    writer.heading(1, "Doses")
    writer.block("paragraph", "What follows is a table.")
    writer.table(grid, caption)
    writer.block("paragraph", "What precedes was a table.")
    item = RawItem("doc.x", "doc", "html", payload=b"x")
    return document(item, writer.outline(), "test/1", title="Doses", stated={})


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@dataclass(frozen=True)
class Names:
    """What must be read with a data cell: in its own line, and above it; and the headers of its column, or of each of its
    columns."""

    line: frozenset[str]
    above: frozenset[str]
    columns: frozenset[frozenset[str]]


def named(grid: Grid, caption: str) -> dict[str, Names]:
    """Every word of the table's body with the names of its cell, told from the grid alone."""
    found: dict[str, Names] = {}
    group: set[str] = set()
    heads = grid.rows[: grid.headers]
    for row in grid.rows[grid.headers :]:
        if grid.width > 1 and not any(row[1:]) and row[0].startswith("group"):
            group = words(row[0])
            none = frozenset([frozenset[str]()])
            found |= dict.fromkeys(group - {"part"}, Names(frozenset(), frozenset(words(caption)), none))
            continue
        for column, cell in enumerate(row):
            columns = frozenset([frozenset(word for head in heads for word in words(head[column]))])
            label = frozenset(words(row[0])) if column else frozenset()
            above = frozenset(group | words(caption)) if column else frozenset()
            for word in words(cell):
                before = found[word].columns if word in found else frozenset()
                found[word] = Names(label, above, before | columns)
    return found


def reachable(grid: Grid, caption: str, limit: int) -> int:
    """Checks every chunk of the table; gives how many words of its body were found in their places."""
    doc = written(grid, caption)
    chunks = chunks_of(doc, limit)
    names = named(grid, caption)
    wanted = {(word, columns) for word, name in names.items() for columns in name.columns}
    seen = set()
    at = 0
    for chunk in chunks:
        assert chunk.token_count == count([chunk.embedded_text])[0] <= limit
        assert chunk.body == doc.text[chunk.spans[0].start : chunk.spans[0].end]
        assert not re.search(r"\w", doc.text[at : chunk.spans[0].start].replace("Doses", ""))
        at = chunk.spans[-1].end
        for word in words(chunk.body) & names.keys():
            seen |= {(word, columns) for columns in read_in(chunk, word, names[word])}
    assert seen == wanted
    return len(names)


def read_in(chunk: Chunk, word: str, name: Names) -> set[frozenset[str]]:
    """The columns under whose headers a word of the chunk's body is shown and said, with all its other names."""
    said = chunk.display if chunk.embedded is None else chunk.embedded
    shown = words(chunk.display)
    assert name.above | {word} <= shown
    assert name.above | {word} <= words(said)
    assert any(name.line | {word} <= words(line) for line in chunk.display.splitlines() if word in line)
    spoken = [words(line) for line in said.splitlines() if word in line]
    found = {
        columns
        for columns in name.columns
        if columns <= shown and any(name.line | columns | {word} <= line for line in spoken)
    }
    assert found
    return found


@given(plan=plans(st.integers(1, 40), 60), limit=st.sampled_from([64, 90, 130, 448]))
@settings(max_examples=100, deadline=None)
def test_every_cell_is_read_with_its_names(plan: Plan, limit: int) -> None:
    reachable(lay_out(cells_of(plan)), plan.caption, limit)


@given(plan=plans(st.sampled_from([400, 2000, 5000]), 6), limit=st.sampled_from([64, 448]))
@settings(max_examples=3, deadline=None, phases=[Phase.generate])  # a smaller table is the other test's
def test_every_cell_of_a_long_table_is_read_with_its_names(plan: Plan, limit: int) -> None:
    assert reachable(lay_out(cells_of(plan)), plan.caption, limit) >= plan.rows / 4


# Wording


def test_a_row_is_a_sentence() -> None:
    assert sentences("| Age | Dose |", "|---|---|", "| 6–11 years | 5 mg once daily |") == [
        "Age 6–11 years: Dose 5 mg once daily"
    ]


def test_the_names_of_a_column_are_joined_from_the_top() -> None:
    rows = sentences(
        "| Unit | 2023 | | 2024 | |",
        "| | Q1 net | Q3 net | Q1 net | Note |",
        "|---|---|---|---|---|",
        "| A-1 | 1 | 2 | | 4 |",
    )
    assert rows == ["Unit A-1: 2023 Q1 net 1; 2023 Q3 net 2; 2024 Note 4"]


def test_merged_header_cells_are_said_once() -> None:
    cells = [
        Cell(0, 0, "Drug", rows=2, header=True), Cell(0, 1, "Dose (mg)", columns=2, header=True),
        Cell(1, 1, "Adult", header=True), Cell(1, 2, "", header=True),
        Cell(2, 0, "A"), Cell(2, 1, "10"), Cell(2, 2, "5"),
    ]  # fmt: skip
    assert sentences(*lay_out(cells).pipes().splitlines()) == ["Drug A: Dose (mg) Adult 10; Dose (mg) 5"]


def test_a_blank_heading_beside_no_heading_stays_blank() -> None:
    assert sentences("| Drug | Dose | |", "|---|---|---|", "| A | 5 mg | see note 2 |") == [
        "Drug A: Dose 5 mg; see note 2"
    ]


def test_a_name_and_its_value() -> None:
    assert sentences("| | |", "|---|---|", "| Name | Zentrapril |", "| Half-life: | 5 h |") == [
        "Name: Zentrapril",
        "Half-life: 5 h",
    ]
    assert sentences("| Name | Zentrapril |", "| Half-life | 5 h |") == ["Name: Zentrapril", "Half-life: 5 h"]
    assert sentences("| Drug | Dose |", "| A | 5 mg |", "| B | 7 mg |") == [
        "Drug A: Dose 5 mg",
        "Drug B: Dose 7 mg",
    ]


def test_a_label_that_equals_its_cell_is_said_once() -> None:
    assert sentences("| Dose | Dose |", "|---|---|", "| Dose | 5 mg |") == ["Dose: Dose 5 mg"]


def test_leading_columns_without_figures_are_the_label() -> None:
    rows = ("| Drug | Form | Dose |", "|---|---|---|", "| A | tablet | 5 mg |", "| A | syrup | 2 ml |")
    assert sentences(*rows)[0] == "Drug A, Form tablet: Dose 5 mg"
    assert sentences(*rows[:2], "| A | B | C |") == ["Drug A: Form B; Dose C"]
    assert table(*rows[:2], "| A | " + "words " * 12 + "| 5 |").stub == 1


def test_merged_row_labels_take_the_next_column_along() -> None:
    rows = (
        "| Age | eGFR | Dose | n |",
        "|---|---|---|---|",
        "| 6–11 | 30–59 | 5 | 1 |",
        "| 6–11 | 60 | 9 | 2 |",
    )
    assert sentences(*rows)[1] == "Age 6–11, eGFR 60: Dose 9; n 2"


def test_escaped_bars_short_and_long_rows() -> None:
    head = ("| A | B |", "|---|---|")
    assert sentences(*head, r"| x \| y | 1 |") == ["A x | y: B 1"]
    assert sentences(*head, "| x |", "| y | 1 | 2 |") == ["x", "A y: B 1; 2"]


def test_one_column_and_figures_only() -> None:
    assert sentences("| Warnings |", "|---|", "| Avoid sun. |") == ["Warnings: Avoid sun."]
    assert sentences("| 1 | 2 | 3 |", "| 4 | 5 | 6 |") == ["1: 2; 3", "4: 5; 6"]


def test_a_long_cell_over_several_columns_is_said_once() -> None:
    note = "not recommended below 30 ml/min"
    assert sentences(
        "| Drug | Adult | Child |", "|---|---|---|", f"| A | {note} | {note} |", "| B | 5 | 5 |"
    ) == [
        f"Drug A: Adult / Child {note}",
        "Drug B: Adult 5; Child 5",
    ]


# Groups and captions


def test_the_row_of_a_group_stands_above_every_part_of_it() -> None:
    body = "".join(f"| finding{n} | common | {n} |\n" for n in range(12))
    head = "| Reaction | Frequency | n |\n|---|---|---|\n"
    doc = parse(f"{head}| Infections | | |\n{body}| Cardiac | | |\n{body.replace('finding', 'sign')}")
    chunks = chunks_of(doc, 64)
    assert len(chunks) > 4
    for chunk in chunks:
        said = (chunk.embedded or "").splitlines()
        assert chunk.display.startswith("| Reaction | Frequency | n |\n|---|---|---|\n")
        assert said[0] == ("Infections" if "finding" in chunk.body else "Cardiac")
        assert "| Infections | | |" in chunk.display or "finding" not in chunk.body
        assert "| Cardiac | | |" in chunk.display or "sign" not in chunk.body
        assert said[-1] not in ("Infections", "Cardiac")


def test_the_label_that_a_blank_cell_continues_is_shown_again() -> None:
    rows = "".join(f"| {'Adults' if n == 0 else ''} | stage{'abcdefgh'[n]} | {n} mg |\n" for n in range(8))
    for chunk in chunks_of(parse(f"| Who | Kidney | Dose |\n|---|---|---|\n{rows}"), 60):
        assert "| Adults |" in chunk.display
        assert "Adults" in (chunk.embedded or "")


def test_prose_keeps_its_words_beside_the_sentences_of_a_table() -> None:
    (chunk,) = chunks_of(
        parse("All doses are per day.\n\n| Age | Dose |\n|---|---|\n| 6 | 5 mg |\n\nAsk first.")
    )
    assert chunk.embedded == "All doses are per day.\n\nAge 6: Dose 5 mg\n\nAsk first."
    assert chunk.display == chunk.body
    assert chunks_of(parse("Only words."))[0].embedded is None


@pytest.mark.parametrize(
    "line",
    [
        "Table 3. Doses in mg",
        "**Tabla 2:** Dosis",
        "Tableau IV – Doses",
        "Cuadro 1\nDosis",
        "Table A Dosing by age",
    ],
)
def test_the_paragraph_that_names_a_table_is_repeated(line: str) -> None:
    rows = "".join(f"| {n} | {n} mg |\n" for n in range(40))
    for media in ("markdown", "text"):
        doc = parse(f"# Part\n\n{line}\n\n| Age | Dose |\n|---|---|\n{rows}", media)
        block = next(b for b in doc.blocks if b.kind == "table")
        assert block.caption is not None
        assert doc.text[block.caption.start : block.caption.end] == line
        chunks = [c for c in chunks_of(doc, 70) if "mg |" in c.body]
        assert len(chunks) > 3
        for chunk in chunks:
            assert " ".join(line.split()) in " ".join(chunk.display.split())
            assert " ".join(line.split()) in " ".join((chunk.embedded or "").split())
            assert "| Age | Dose |" in chunk.display


@pytest.mark.parametrize(
    "line", ["Table 3 shows the doses.", "Tables are below.", "See Table 3. It has doses."]
)
def test_a_sentence_about_a_table_is_no_caption(line: str) -> None:
    doc = parse(f"{line}\n\n| Age | Dose |\n|---|---|\n| 1 | 2 mg |\n")
    assert [block.caption for block in doc.blocks] == [None, None]


# Reports of failures


def test_the_child_dose_is_said_in_one_chunk(cases: Path) -> None:
    doc = parse((cases / "h_table.md").read_text())
    chunks = chunks_of(doc, 120)
    (holding,) = [c for c in chunks if "Zentrapril-47" in c.body]
    assert (
        "Drug Zentrapril-47: Adult dose 475 mg; Child dose 95 mg; Renal adjustment none"
        in (holding.embedded or "").splitlines()
    )
    assert "| Drug | Adult dose | Child dose | Renal adjustment |" in holding.display


@pytest.mark.parametrize("limit", [64, 100, 448])
def test_both_header_rows_are_said_with_a_figure(cases: Path, limit: int) -> None:
    chunks = chunks_of(parse((cases / "h_wide_table.md").read_text()), limit)
    said = [line for c in chunks for line in (c.embedded or "").splitlines() if "5,120" in line]
    assert len(said) == 1
    assert said[0].startswith("Unit Unit-31: ")
    assert "2023 Q3 net 5,120 (audited, rounded to whole units)" in said[0]


def test_time_grows_with_the_rows_alone() -> None:
    def seconds(rows: int) -> float:
        body = "".join(f"| drug{n} | {n} mg | {n * 2} mg |\n" for n in range(rows))
        doc = parse(f"| Drug | Adult | Child |\n|---|---|---|\n| Part | | |\n{body}")
        spent = []
        for _ in range(3):  # of the processor, and the least: other work on the machine is not counted
            began = time.process_time()
            chunks_of(doc)
            spent.append(time.process_time() - began)
        return min(spent)

    seconds(100)
    assert seconds(5000) < 20 * max(seconds(500), 0.02)
