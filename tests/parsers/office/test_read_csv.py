from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.office import blocks, parse

from veraz.errors import ItemError


def read(text: str | bytes, name: str = "a.csv") -> str:
    doc = parse(text.encode() if isinstance(text, str) else text, name)
    assert [kind for kind, _ in blocks(doc)] == ["table"]
    return doc.text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_under_which_rows_agree(delimiter: str) -> None:
    lines = [("Drug", "Dose"), ("Sorbex", "2 mg"), ("Calm", "5 mg")]
    text = "".join(delimiter.join(line) + "\n" for line in lines)
    assert read(text) == "| Drug | Dose |\n|---|---|\n| Sorbex | 2 mg |\n| Calm | 5 mg |"


def test_decimal_commas_do_not_cut_a_field() -> None:
    assert (
        read("Drug;mg\nSorbex;2,5\nCalm;0,5\n")
        == "| Drug | mg |\n|---|---|\n| Sorbex | 2,5 |\n| Calm | 0,5 |"
    )


def test_the_name_and_a_first_line_may_state_the_delimiter() -> None:
    assert read("a\tb\n1,5\t2\n", "a.tsv") == "| a | b |\n|---|---|\n| 1,5 | 2 |"
    for end in ("\n", "\r\n", "\r"):
        assert read(f"sep=;{end}a;b{end}1;2{end}") == "| a | b |\n|---|---|\n| 1 | 2 |"


def test_quotes_line_breaks_and_bars_in_a_field() -> None:
    assert read('Drug,Note\nSorbex,"say ""no"",\nthen | stop"\n') == (
        '| Drug | Note |\n|---|---|\n| Sorbex | say "no", then \\| stop |'
    )


def test_a_first_row_like_the_others_is_no_header() -> None:
    assert read("1,2\n3,4\n") == "| 1 | 2 |\n| 3 | 4 |"


def test_rows_of_other_widths_lose_no_cell(shared: Path) -> None:
    folder = shared / "data/hard_ingest/docling"
    doc = parse((folder / "csv-too-many-columns.csv").read_bytes(), "a.csv")
    assert "| a | b | c | d | e |" in doc.text
    assert doc.warnings == ("1 of 5 rows have not the 4 columns of the first (rows 3): read as 5 columns",)
    assert parse((folder / "csv-inconsistent-header.csv").read_bytes(), "a.csv").text.count("| d |") == 4


def test_a_character_set_that_is_not_stated(shared: Path) -> None:
    doc = parse((shared / "data/hard_ingest/markitdown/test_mskanji.csv").read_bytes(), "a.csv")
    assert doc.text == (
        "| 名前 | 年齢 | 住所 |\n|---|---|---|\n| 佐藤太郎 | 30 | 東京 |\n| 三木英子 | 25 | 大阪 |\n| 髙橋淳 | 35 | 名古屋 |"
    )
    assert doc.warnings == ("the character set is not stated; read as cp932, which fits best",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_stated_and_western_character_sets(encoding: str) -> None:
    assert "| Köln | 5 |" in read("Ort,Menge\nKöln,5\nBad Münstereifel,6\n".encode(encoding))


def test_a_big_file_stays_one_table() -> None:
    text = "name,value\n" + "".join(f"n{n},{n}\n" for n in range(300_000))
    assert read(text).count("\n") == 300_001


@pytest.mark.parametrize("payload", [b"", b"\n\n", b" , \n,,\n"])
def test_nothing_is_no_content(payload: bytes) -> None:
    with pytest.raises(ItemError, match="no content"):
        parse(payload, "a.csv")


def test_noise_is_refused() -> None:
    with pytest.raises(ItemError, match="not text"):
        parse(bytes(range(256)) * 8, "a.csv")


def test_a_quote_that_is_never_closed_is_refused_where_it_opens() -> None:
    for text in (
        'drug,dose\nAlba,1 mg\n"Sorbex,5 mg\nCalm,7 mg\nDorm,9 mg\n',
        'drug,dose\nAlba,1 mg\nSorbex,"5 mg\nCalm,7 mg\nDorm,9 mg',
    ):
        with pytest.raises(ItemError, match=r"line \d opens a quote that is never closed") as caught:
            parse(text.encode(), "a.csv")
        assert caught.value.fix
    assert read('drug,note\nAlba,"5"" wide\nand long"\n') == (
        '| drug | note |\n|---|---|\n| Alba | 5" wide and long |'
    )
    assert read('pipe,size\nAlba,5"\nCalm,7"\nDorm,9"\n').count("\n") == 4
