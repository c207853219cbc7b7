"""The contexts of chunks: those that are known, those that a writer is asked for, and how they fit.

What was written is kept at once, before the next question: a run that is stopped pays again for the answers that were under way,
and for no other.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from veraz.errors import MalformedResponse, ProviderError, RequestRefused
from veraz.ingest import store
from veraz.ingest.context_prompt import fitted
from veraz.ingest.context_writers import NoContext
from veraz.nouns.corpus import Chunk, Identity, ParsedDocument

if TYPE_CHECKING:
    from veraz.db.session import Database
    from veraz.providers.ports import ContextWriter

_NONE = NoContext()

KEPT_DAYS = 30
"""How long a draft waits for its document."""
SETTLE_EVERY = 4_000
"""Drafts of one run between two looks at which of them are written."""
ODD_ANSWERS = 3
"""Refused or unreadable answers about one document, after which it is asked about no more."""
SILENT_DOCUMENTS = 2
"""Documents in a row about which the model could not be asked, after which the rest of the run does without."""
HOPELESS_DOCUMENTS = 8
"""The same for any failure, while nothing was answered in this run."""


@dataclass(frozen=True, slots=True)
class ContextRules:
    """`tokens`: the most that a context adds to a chunk, which is cut smaller by as much. `required`: a document without all of
    its contexts is refused. `side_by_side` questions are under way at once."""

    writer: ContextWriter = _NONE
    tokens: int = 0
    required: bool = False
    side_by_side: int = 4

    @property
    def room(self) -> int:
        return self.tokens if self.writer.version else 0

    @property
    def version(self) -> str:
        return f"{self.writer.version} tokens {self.tokens}" if self.writer.version else ""


NO_CONTEXTS = ContextRules()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document whose chunks want contexts."""

    document_id: UUID
    document: ParsedDocument
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """The chunks with what was written about them. `missing`: the keys of those about which nothing was, and `why`."""

    chunks: tuple[Chunk, ...]
    missing: tuple[bytes, ...] = ()
    why: ProviderError | None = None

    def named(self) -> str:
        """The same for the same chunks without contexts."""
        return hashlib.sha256(b"".join(sorted(self.missing))).hexdigest()

    def shortfall(self) -> str:
        reason = self.why.what if self.why else ""
        return f"{len(self.missing)} of {len(self.chunks)} chunks have no context: {reason}"


@dataclass(frozen=True, slots=True)
class _Question:
    wanted: Wanted
    chunk: Chunk
    key: bytes


@dataclass(slots=True)
class _Asking:
    """What became of the documents of one call; those `stopped` are asked about no more."""

    odd: Counter[UUID] = field(default_factory=Counter)
    stopped: set[UUID] = field(default_factory=set)
    faults: dict[UUID, ProviderError] = field(default_factory=dict)


class Contexts:
    """Of one run. `asked` counts answers of the writer, `reused` chunks whose context was known, `without` those about which the
    writer had nothing to say."""

    def __init__(
        self,
        database: Database,
        identity: Identity,
        rules: ContextRules,
        *,
        limit: int,
        count_tokens: Callable[[Sequence[str]], list[int]],
    ) -> None:
        self._database = database
        self._identity = identity
        self._rules = rules
        self._limit = limit
        self._count_tokens = count_tokens
        self._unkept: list[store.ContextDraft] = []
        self._keeping = asyncio.Lock()
        self._settled_at = 0
        self._silent: set[UUID] = set()  # documents since the last answer
        self._failed: set[UUID] = set()
        self._given_up: ProviderError | None = None
        self.asked = 0
        self.reused = 0
        self.without = 0

    async def give(self, documents: Sequence[Wanted]) -> list[Given]:
        """In order. Never raises for a writer that fails: `missing` and `why` say it."""
        if not self._rules.writer.version or not documents:
            return [Given(wanted.chunks) for wanted in documents]
        keys = await asyncio.to_thread(self._keys, documents)
        known = await self._known({key for row in keys for key in row if key is not None})
        before = set(known)
        asking = _Asking()
        questions = iter(_questions(documents, keys, before))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._rules.side_by_side):
                    group.create_task(self._ask(questions, known, asking))
        except ExceptionGroup as failures:  # of the database: the writer's are not raised
            raise failures.exceptions[0] from None
        given = []
        for wanted, row in zip(documents, keys, strict=True):
            missing = tuple(key for key in row if key is not None and key not in known)
            given.append(
                Given(
                    await asyncio.to_thread(self._fitted, wanted.chunks, row, known),
                    missing,
                    self._why(wanted, asking) if missing else None,
                )
            )
            self.reused += sum(key in before for key in row)
            self.without += sum(key is not None and known.get(key) == "" for key in row)
        if self.asked - self._settled_at >= SETTLE_EVERY:
            await self.settle()
        return given

    async def settle(self) -> None:
        """Lets go what is kept twice, and what nobody came back for."""
        self._settled_at = self.asked
        async with self._database.transaction(self._identity, "write") as connection:
            await store.settle_drafts(connection, KEPT_DAYS)

    # --- what is known

    def _keys(self, documents: Sequence[Wanted]) -> list[list[bytes | None]]:
        return [self._rules.writer.keys(wanted.document, wanted.chunks) for wanted in documents]

    async def _known(self, keys: set[bytes]) -> dict[bytes, str]:
        async with self._database.transaction(self._identity, "write") as connection:
            return await store.known_contexts(connection, sorted(keys))

    # --- what is asked

    async def _ask(self, questions: Iterator[_Question], known: dict[bytes, str], asking: _Asking) -> None:
        for question in questions:  # shared: each worker takes the next one
            if self._given_up is not None or question.wanted.document_id in asking.stopped:
                continue
            try:
                context = await self._rules.writer.write(question.wanted.document, question.chunk)
            except ProviderError as error:
                self._failing(question.wanted.document_id, error, asking)
                continue
            known[question.key] = context
            self.asked += 1
            self._silent.clear()
            self._unkept.append(store.ContextDraft(question.wanted.document_id, question.key, context))
            await self._keep()

    def _failing(self, document_id: UUID, error: ProviderError, asking: _Asking) -> None:
        """A document that the model does not take must not cost others theirs, and a model that is away not hours of waiting."""
        asking.faults.setdefault(document_id, error)
        if isinstance(error, RequestRefused | MalformedResponse):
            asking.odd[document_id] += 1
        else:
            self._silent.add(document_id)
        if document_id in self._silent or asking.odd[document_id] >= ODD_ANSWERS:
            asking.stopped.add(document_id)
        self._failed.add(document_id)
        hopeless = not self.asked and len(self._failed) >= HOPELESS_DOCUMENTS
        if self._given_up is None and (len(self._silent) >= SILENT_DOCUMENTS or hopeless):
            self._given_up = error

    async def _keep(self) -> None:
        """What came while another worker was keeping goes with the next."""
        async with self._keeping:
            drafts, self._unkept = self._unkept, []
            if drafts:
                await self._database.again(partial(self._keep_once, drafts))

    async def _keep_once(self, drafts: Sequence[store.ContextDraft]) -> None:
        async with self._database.transaction(self._identity, "write") as connection:
            await store.keep_drafts(connection, drafts)

    # --- what comes of it

    def _fitted(
        self, chunks: Sequence[Chunk], keys: Sequence[bytes | None], known: dict[bytes, str]
    ) -> tuple[Chunk, ...]:
        found = [known.get(key, "") if key is not None else "" for key in keys]
        made = fitted(
            chunks, found, most=self._rules.tokens, limit=self._limit, count_tokens=self._count_tokens
        )
        asked = zip(made, keys, strict=True)
        return tuple(replace(chunk, context_key=key) if key in known else chunk for chunk, key in asked)

    def _why(self, wanted: Wanted, asking: _Asking) -> ProviderError:
        own = asking.faults.get(wanted.document_id) or self._given_up
        return own or next(iter(asking.faults.values()))  # that of a document with the same text


def _questions(
    documents: Sequence[Wanted], keys: Sequence[Sequence[bytes | None]], known: set[bytes]
) -> Iterator[_Question]:
    """Equal questions are asked once."""
    asked = set(known)
    for wanted, row in zip(documents, keys, strict=True):
        for chunk, key in zip(wanted.chunks, row, strict=True):
            if key is not None and key not in asked:
                asked.add(key)
                yield _Question(wanted, chunk, key)
