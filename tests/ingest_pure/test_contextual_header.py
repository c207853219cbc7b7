from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veraz.ingest.header import contextual_header


def test_source_title_and_path() -> None:
    assert (
        contextual_header("NICE", "Metformin", ["Dose", "Renal  disease"])
        == "NICE\nMetformin\nDose › Renal disease"
    )


def test_a_heading_like_the_title_is_not_repeated() -> None:
    assert contextual_header("NICE", "Metformin", ["METFORMIN", "Dose"]) == "NICE\nMetformin\nDose"
    assert contextual_header("NICE", "Metformin", ["Metformin"]) == "NICE\nMetformin"


def test_missing_parts_leave_no_blank_lines() -> None:
    assert contextual_header("", "", []) == ""
    assert contextual_header("NICE", "", ["Dose"]) == "NICE\nDose"


def test_the_middle_of_a_long_path_goes_first() -> None:
    path = [f"Heading number {n}" for n in range(6)]
    header = contextual_header("NICE", "Metformin", path, max_chars=80)
    assert header == "NICE\nMetformin\nHeading number 0 › … › Heading number 4 › Heading number 5"


@given(
    st.text(max_size=40),
    st.text(max_size=80),
    st.lists(st.text(max_size=60), max_size=6),
    st.integers(0, 200),
)
def test_it_is_never_longer_than_allowed(source: str, title: str, path: list[str], size: int) -> None:
    header = contextual_header(source, title, path, max_chars=size)
    assert len(header) <= size
    assert header == contextual_header(source, title, path, max_chars=size)
    assert "\n\n" not in header
