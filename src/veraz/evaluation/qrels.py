"""Relevance judgements: who judged which document how good for which query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, text_lines, write_lines

Qrels = dict[str, dict[str, int]]
"""Query id → document id → grade. Grade 1 and above is relevant; 0 and below was judged and is not."""

HEADERS = {"query-id", "query_id", "queryid", "qid"}
GRADE = re.compile("-?[0-9]{1,9}")
LINE_FIX = "one judgement a line: query id, document id, whole-number grade, separated by tabs"


def read_qrels(path: Path) -> Qrels:
    """Reads `qid<TAB>docid<TAB>grade`, with or without BEIR's header line, or TREC's `qid 0 docid grade`.

    A pair may be repeated with the same grade. Raises UsageError, naming file and line, for anything else.
    """
    qrels: Qrels = {}
    for number, line in text_lines(path):
        fields = _fields(line)
        if not qrels and fields[0].lower() in HEADERS:
            continue
        query_id, docid, grade = _judgement(path, number, fields)
        if qrels.setdefault(query_id, {}).setdefault(docid, grade) != grade:
            known = qrels[query_id][docid]
            fault(
                path,
                number,
                f"query {query_id!r}, document {docid!r} judged twice: {known} and {grade}",
                "keep one grade for each pair",
            )
    if not qrels:
        raise UsageError(f"{path}: no judgements", fix=LINE_FIX)
    return qrels


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """TREC's `qid 0 docid grade`, for other tools to score a run file by. Raises UsageError where it cannot be written."""
    rows = ((q, docid, grade) for q, grades in qrels.items() for docid, grade in grades.items())
    write_lines(path, (f"{query_id} 0 {docid} {grade}" for query_id, docid, grade in rows))


def _fields(line: str) -> list[str]:
    """Tabs separate where there are any, so that ids may hold spaces; else any white space does."""
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def _judgement(path: Path, number: int, fields: list[str]) -> tuple[str, str, int]:
    if len(fields) == 4:  # TREC: the second column is an unused iteration number
        del fields[1]
    if len(fields) != 3 or not all(fields):
        fault(path, number, f"{len(fields)} fields where 3 are expected", LINE_FIX)
    query_id, docid, grade = fields
    if not GRADE.fullmatch(grade):
        fault(path, number, f"grade {grade!r} is not a whole number", LINE_FIX)
    return query_id, docid, int(grade)
