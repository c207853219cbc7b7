"""What arms gave, on disk: whole records survive whatever ended the process."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from uuid import UUID

import pytest

from veraz.errors import UsageError
from veraz.evaluation.sweeps.kept import KeptArms, arms_path, claimed, witnesses
from veraz.nouns.evidence import Candidate
from veraz.nouns.sweep import Asked, Owner


def answer(n: int) -> Asked:
    ids = [UUID(int=100 * n + i) for i in range(3)]
    return Asked(
        tuple(
            Candidate(key, 0.1 + n / 3 + i / 7, 1 + i, date(2020, 1, 1 + i) if i else None)
            for i, key in enumerate(ids)
        ),
        {key: Owner(f"doc {n} é", UUID(int=n + 1), bytes([i]) * 16) for i, key in enumerate(ids)},
        1.25 * n,
    )


def filled(path: Path, count: int) -> None:
    kept = KeptArms(path)
    for n in range(count):
        kept.keep(f"question {n}", answer(n))
    kept.close()


def test_what_was_kept_comes_back_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    filled(path, 5)
    kept = KeptArms(path)
    assert kept.known == 5
    for n in (4, 0, 2):
        assert kept.get(f"question {n}") == answer(n)
    assert kept.get("question 5") is None
    assert kept.owners == {key: o for n in range(5) for key, o in answer(n).owners.items()}
    assert sorted(kept.milliseconds) == [1.25 * n for n in range(5)]
    kept.keep("none", Asked(None, {}, 0.5))
    assert kept.get("none") == Asked(None, {}, 0.5)
    assert kept.get("question 3") == answer(3)  # reading and adding share one file
    kept.close()


def test_a_file_cut_off_anywhere_keeps_its_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    filled(path, 3)
    data = path.read_bytes()
    ends = [0]
    for n in (1, 2, 3):
        filled(tmp_path / f"{n}.bin", n)
        ends.append((tmp_path / f"{n}.bin").stat().st_size)
    for cut in range(0, len(data) + 1, 7):
        path.write_bytes(data[:cut])
        kept = KeptArms(path)
        assert kept.known == sum(end <= cut for end in ends[1:])
        kept.keep("after", answer(9))
        kept.close()
        again = KeptArms(path)
        assert again.get("after") == answer(9)
        assert again.known == kept.known + 1
        again.close()


def test_a_record_that_was_changed_ends_what_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    filled(path, 3)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    kept = KeptArms(path)
    assert kept.known == 1
    kept.close()


def test_forgetting_empties_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    filled(path, 3)
    kept = KeptArms(path)
    kept.forget()
    assert kept.get("question 1") is None
    kept.keep("question 1", answer(7))
    kept.close()
    again = KeptArms(path)
    assert again.known == 1
    assert again.get("question 1") == answer(7)
    again.close()


def test_each_way_of_asking_has_a_file_of_its_own(tmp_path: Path) -> None:
    key = {"of": {"tenant": "a"}, "arm": {"pool": 100}}
    assert arms_path(tmp_path, key) == arms_path(tmp_path, dict(reversed(key.items())))
    assert arms_path(tmp_path, key) != arms_path(tmp_path, {**key, "arm": {"pool": 101}})


def test_witnesses_are_spread_over_what_is_known(tmp_path: Path) -> None:
    filled(tmp_path / "a.bin", 9)
    kept = KeptArms(tmp_path / "a.bin")
    questions = [f"question {n}" for n in range(12)]
    assert witnesses(questions, kept) == ("question 0", "question 3", "question 6")
    kept.forget()
    assert witnesses(questions, kept) == ()
    kept.close()


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with claimed(out), pytest.raises(UsageError, match="another sweep"), claimed(out):
        pass
    with claimed(out):
        pass


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"), claimed(tmp_path / "file"):
        pass
