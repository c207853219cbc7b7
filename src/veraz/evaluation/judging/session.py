"""One judge at work: what comes next, what was said of it, and a way back. It knows neither terminal nor browser.

Every grade is in the suite's log before the next passage is shown, so that nothing is lost whatever stops the session; begun
again, it goes on with what is not judged yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from veraz.evaluation.suites.judgements import JudgementLog, key_of, latest
from veraz.nouns.suite import Judgement, Passage, PooledQuestion, QueryRequest

GRADES = {0: "not relevant", 1: "helps, but does not answer", 2: "answers the question"}
"""What a judge may say. Three grades are told apart reliably; a suite may hold a fourth, from elsewhere."""


@dataclass(frozen=True, slots=True)
class Task:
    """One passage to be judged for one question. `question` and `passage` count from 1, `passages` are those of the
    question."""

    request: QueryRequest
    passage: Passage
    question: int
    questions: int
    number: int
    passages: int


@dataclass(frozen=True, slots=True)
class Progress:
    judged: int
    skipped: int
    total: int

    @property
    def left(self) -> int:
        return self.total - self.judged - self.skipped


class JudgingSession:
    """Walks through a pool in its order. `judgements` are the lines of the log so far, of all judges."""

    def __init__(
        self,
        pool: Sequence[PooledQuestion],
        judgements: Sequence[Judgement],
        log: JudgementLog,
        judge: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._log = log
        self.judge = judge
        self.grades = GRADES
        self.file = str(log.path)
        self._clock = clock
        self._tasks = [
            Task(question.request, passage, place, len(pool), number, len(question.passages))
            for place, question in enumerate(pool, 1)
            for number, passage in enumerate(question.passages, 1)
        ]
        of_key = {key_of(self._judgement(task, 0)): index for index, task in enumerate(self._tasks)}
        said = [key for who, key in latest(judgements) if who == judge]
        # in the order in which they were judged: that is the way back
        self._judged: dict[int, None] = dict.fromkeys(of_key[key] for key in said if key in of_key)
        self._skipped: set[int] = set()
        self._first = 0

    @property
    def progress(self) -> Progress:
        return Progress(len(self._judged), len(self._skipped), len(self._tasks))

    def current(self) -> Task | None:
        """The next passage that was neither judged nor skipped; None at the end."""
        index = self._next()
        return None if index is None else self._tasks[index]

    def grade(self, grade: int) -> None:
        """Keeps a grade for the current passage. Raises ValueError for one that is not in GRADES or when nothing is left,
        UsageError where the log cannot be written: the passage stays current then."""
        if grade not in GRADES:
            raise ValueError(f"grade {grade}")
        index = self._required()
        self._log.add(self._judgement(self._tasks[index], grade))
        self._judged[index] = None

    def skip(self) -> None:
        """Leaves the current passage for the next session."""
        self._skipped.add(self._required())

    def undo(self) -> bool:
        """Takes back the last grade, an earlier session's too, and shows its passage again. False where there is none."""
        if not self._judged:
            return False
        index = next(reversed(self._judged))
        self._log.add(self._judgement(self._tasks[index], None))
        del self._judged[index]
        self._first = index
        return True

    def _next(self) -> int | None:
        """From the passage that was last taken back on, else in the order of the pool."""
        order = (*range(self._first, len(self._tasks)), *range(self._first))
        return next((i for i in order if i not in self._judged and i not in self._skipped), None)

    def _required(self) -> int:
        index = self._next()
        if index is None:
            raise ValueError("nothing is left to be judged")
        return index

    def _judgement(self, task: Task, grade: int | None) -> Judgement:
        passage, place = task.passage, task.passage.place
        return Judgement(
            query_id=task.request.query_id,
            source=passage.source,
            external_id=passage.external_id,
            start=place.start,
            end=place.end,
            sha256=passage.sha256,
            grade=grade,
            judge=self.judge,
            at=self._clock().replace(microsecond=0),
        )
