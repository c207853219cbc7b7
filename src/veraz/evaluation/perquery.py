"""The per-query file: one JSON object a line, everything a later comparison or a reader of one bad query
needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, numbered_lines, write_lines
from veraz.nouns.evaluation import QueryResult

FILE_NAME = "per_query.jsonl"
FIX = f"give the --out folder of an earlier run, or its {FILE_NAME}"


def write_results(path: Path, results: Iterable[QueryResult]) -> None:
    """One `QueryResult` a line, its fields as the keys."""
    write_lines(path, (msgspec.json.encode(result).decode() for result in results))


def read_results(run: Path) -> tuple[QueryResult, ...]:
    """Reads back a run's folder or per-query file. Raises UsageError naming file and line."""
    path = run / FILE_NAME if run.is_dir() else run
    if not path.is_file():
        raise UsageError(f"{path}: no such file", fix=FIX)
    decoder = msgspec.json.Decoder(QueryResult)
    results: dict[str, QueryResult] = {}
    for number, line in numbered_lines(path):
        try:
            result = decoder.decode(line)
        except msgspec.DecodeError as error:
            fault(path, number, f"not a per-query record: {error}", FIX)
        if result.query_id in results:
            fault(path, number, f"query {result.query_id!r} appears twice", FIX)
        results[result.query_id] = result
    if not results:
        raise UsageError(f"{path}: no queries", fix=FIX)
    return tuple(results.values())
