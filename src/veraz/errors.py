"""Every error that Veraz raises, as one tree.

A message names the item, says what was wrong, and ends with what to do. A refusal to answer is a value
(outcome `insufficient`), never an exception.

    VerazError
    ├── UsageError           exit 2   a flag, an argument or a filter that cannot be used
    │   ├── ConfigError               a key or value of veraz.toml or VERAZ_*
    │   └── AccessDenied              a credential that is not accepted, or may not do this
    ├── UnavailableError     exit 3   something that must be reached could not be
    │   ├── DatabaseError             the server, its version, its extensions, its schema
    │   └── ProviderError             an embedder, a chat model
    │       ├── RateLimited           the provider asked for a pause; `retry_after` in seconds
    │       ├── RequestRefused        the provider does not take this one request; others it may
    │       └── MalformedResponse     the provider's answer does not pair with what was asked
    ├── ItemError            exit 4   one input failed; the rest was kept
    └── CheckFailed          exit 5   a gate or an invariant did not hold
"""

from __future__ import annotations


class VerazError(Exception):
    """Root of the tree. `exit_code` is the command line's, see docs/reference/contract.md."""

    exit_code = 1

    def __init__(self, what: str, *, fix: str | None = None) -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what}\n  fix: {fix}" if fix else what)


class UsageError(VerazError):
    exit_code = 2


class ConfigError(UsageError):
    pass


class AccessDenied(UsageError):
    """Never repeats the credential."""


class UnavailableError(VerazError):
    exit_code = 3


class DatabaseError(UnavailableError):
    pass


class ProviderError(UnavailableError):
    pass


class RateLimited(ProviderError):
    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(what, fix=fix)


class RequestRefused(ProviderError):
    pass


class MalformedResponse(ProviderError):
    pass


class ItemError(VerazError):
    """One input could not be taken. `path` names the file, `external_id` the document when it is known,
    `stage` the step that refused it: read, parse, chunk, context, embed or store."""

    exit_code = 4

    def __init__(
        self,
        reason: str,
        *,
        path: str = "",
        external_id: str | None = None,
        stage: str = "read",
        fix: str | None = None,
    ) -> None:
        self.reason = reason
        self.path = path
        self.external_id = external_id
        self.stage = stage
        where = " ".join(part for part in (path, f"({external_id})" if external_id else "") if part)
        super().__init__(f"{where}: {reason}" if where else reason, fix=fix)


class CheckFailed(VerazError):
    exit_code = 5
