"""The metadata that a document may state about itself, in front matter or as fields of a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, TypedDict

from veraz.errors import ItemError
from veraz.nouns.corpus import Access, AccessRule
from veraz.text.dates import parse_date
from veraz.text.decode import storable, storable_json

_DATES = {
    "date": "revised_at",
    "revision_date": "revised_at",
    "revised_at": "revised_at",
    "published_at": "published_at",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
}
_TEXTS = {
    "url": "url",
    "source": "publisher",
    "publisher": "publisher",
    "license": "license",
    "jurisdiction": "jurisdiction",
    "supersedes": "supersedes",
    "document_type": "document_type",
    "item": "item",
    "edition": "edition",
}
_THREE_LETTERS = {
    "eng": "en", "spa": "es", "fra": "fr", "fre": "fr", "deu": "de", "ger": "de",
    "ita": "it", "por": "pt", "nld": "nl", "dut": "nl",
}  # fmt: skip
LABEL_CHARACTERS = 200
_LANG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?")


class Stated(TypedDict, total=False):
    """Keyword arguments of ParsedDocument."""

    url: str | None
    lang: str | None
    publisher: str | None
    license: str | None
    jurisdiction: str | None
    document_type: str | None
    supersedes: str | None
    item: str | None
    edition: str | None
    access: Access | None
    published_at: date | None
    revised_at: date | None
    valid_from: date | None
    valid_to: date | None
    meta: Mapping[str, Any]


def read_fields(fields: Mapping[str, Any]) -> tuple[Stated, tuple[str, ...]]:
    """What `fields` state, with everything unknown under `meta`, and warnings. Null fields count as absent, but for `acl`,
    which must say something wherever it is written.

    Raises ItemError (stage "parse", without path: the caller adds where) naming the field and the form
    it must have.
    """
    access = read_access(fields)
    stated: Stated = {} if access is None else {"access": access}
    meta: dict[str, Any] = {}
    warnings = _said_in_vain(fields) if access is None else []
    for key, value in fields.items():
        if states_access(key):
            continue
        if value is None:
            if key not in _DATES and key not in _TEXTS and key != "lang":
                meta[_clean(key)] = None
        elif key in _DATES:
            _put_date(stated, key, value)
        elif key in _TEXTS:
            stated[_TEXTS[key]] = _text(key, value)  # type: ignore[literal-required]
        elif key == "lang":
            stated["lang"] = language_code(value)
            if stated["lang"] is None and str(value).strip():
                warnings.append(f"lang {value!r} is not an ISO 639 code: ignored")
        else:
            meta[_clean(key)] = _json(key, value)
    stated["meta"] = meta
    _recognise_edition(stated, meta)
    _check_validity(stated)
    return stated, tuple(warnings)


def read_title(value: object) -> str:
    """A title on one line; "" where none is stated. Raises ItemError (stage "parse") for what is no text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ItemError("field title: text is expected", stage="parse", fix="write title as a string")
    return " ".join(_clean(str(value if value is not None else "")).split())


def language_code(value: object) -> str | None:
    """ISO 639-1 code of a language tag such as `en`, `pt-BR` or `spa`; None when it is no such tag."""
    found = _LANG.fullmatch(str(value).strip())
    if not found:
        return None
    code = found[1].lower()
    return code if len(code) == 2 else _THREE_LETTERS.get(code)


def _clean(text: str) -> str:
    return storable(text)[0]


def _put_date(stated: Stated, key: str, value: object) -> None:
    if isinstance(value, str) and not value.strip():
        return
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | date):
            raise ValueError(f"{value!r} is not a date: write YYYY-MM-DD")
        parsed = parse_date(value)
    except ValueError as error:
        raise ItemError(f"field {key}: {error}", stage="parse", fix=f"correct {key} or remove it") from None
    # `date` is the weakest name for a revision date: an explicit one wins, whatever the order.
    if key != "date" or "revised_at" not in stated:
        stated[_DATES[key]] = parsed  # type: ignore[literal-required]


def _text(key: str, value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ItemError(
            f"field {key}: {type(value).__name__} where text is expected",
            stage="parse",
            fix=f"write {key} as a string",
        )
    return _clean(str(value)).strip() or None


_NOT_SO = re.compile(
    r"acl(?:s|rules?|labels?|owners?|any|all|from|until|list|groups?|roles?|users?)"
    r"|access(?:labels?|rules?|lists?|controls?|controllists?|groups?|roles?)?"
    r"|readable(?:from|until|by|to)|readers?|allowed(?:readers?|roles?|groups?|users?)"
)
"""Names, folded by `_folded`, that can only mean who may read, and are not the one that is read."""
_IN_VAIN = re.compile(
    r"labels|permissions?|visibility|confidential(?:ity)?|private|restricted|roles|groups|securitylabels?|owner"
)
"""Names that may mean who may read, and may mean something else."""


def states_access(key: str) -> bool:
    """Whether a field says who may read: `acl`, however it is written (ACL, Acl)."""
    return _folded(key) == "acl"


def _folded(key: str) -> str:
    return re.sub(r"[\W_]+", "", str(key).casefold())


def read_access(fields: Mapping[str, Any]) -> Access | None:
    """Who may read, None where nothing says so. Refuses what is meant to restrict and would not: ignored, it would make
    the document public."""
    for key, value in fields.items():
        misnamed = _NOT_SO.fullmatch(_folded(key)) or (
            _folded(key) == "owner" and isinstance(value, list | tuple | Mapping)
        )
        if misnamed and value is not None:
            raise ItemError(
                f"field {_clean(key)[:40]}: who may read is stated by acl alone",
                stage="parse",
                fix='write acl with labels; a rule, an owner or a window go inside a record\'s acl: {"all": [...], "until": "…"}'
                " or to --acl-rule, --owner, --readable-from and --readable-until; or rename the field",
            )
    named = [key for key in fields if states_access(key)]
    if len(named) > 1:
        raise ItemError("field acl: stated twice", stage="parse", fix=f"keep one of {', '.join(named)}")
    return _access(fields[named[0]]) if named else None


def _said_in_vain(fields: Mapping[str, Any]) -> list[str]:
    return [
        f"field {_clean(key)[:40]} does not restrict who may read: acl does"
        for key, value in fields.items()
        if _IN_VAIN.fullmatch(_folded(key)) and value not in (None, False, "", [])
    ]


_WINDOW = {"from": "readable_from", "until": "readable_until"}


def _access(value: object) -> Access:
    """`acl` is a list of labels of which one is enough, or says more: {"all": [...]}, {"any": [...]}, {"owner": "..."}, with
    "from" and "until"."""
    if not isinstance(value, Mapping):
        return Access(_labels(None if isinstance(value, str) and value.strip() in ("null", "~") else value))
    unknown = sorted(set(map(str, value)) - {"any", "all", "owner", *_WINDOW})
    if unknown or ("any" in value and "all" in value):
        reason = f"{unknown[0]!r} is unknown" if unknown else '"any" and "all" exclude each other'
        raise ItemError(
            f"field acl: {reason}",
            stage="parse",
            fix='write "any" or "all" with labels, "owner", "from" and "until"',
        )
    owner = _text("acl.owner", value["owner"]) if value.get("owner") is not None else None
    rule: AccessRule = "all" if "all" in value else "any" if "any" in value else "owner"
    if rule == "owner" and owner is None:
        raise ItemError(
            "field acl: no label in it", stage="parse", fix='name labels under "any" or "all", or an "owner"'
        )
    window = {
        name: _moment(f"acl.{key}", value[key]) for key, name in _WINDOW.items() if value.get(key) is not None
    }
    if len(window) == 2 and window["readable_from"] >= window["readable_until"]:
        raise ItemError("field acl: until is not after from", stage="parse", fix="correct the two times")
    labels = _labels([owner]) if rule == "owner" else _labels(value[rule])
    return Access(labels, rule, owner, window.get("readable_from"), window.get("readable_until"))


def _moment(key: str, value: object) -> datetime:
    """A date is its first moment; a time without a zone is UTC."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        elif isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        else:
            raise ValueError
    except ValueError:
        raise ItemError(
            f"field {key}: {value!r} is no time",
            stage="parse",
            fix="write 2027-01-31 or 2027-01-31T18:00+01:00",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _labels(value: object) -> tuple[str, ...]:
    parts = value.strip("[] ").split(",") if isinstance(value, str) and value.strip()[:1] != "{" else value
    if parts is None:
        parts = []
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ItemError(
            "field acl: a list of labels is expected",
            stage="parse",
            fix='write acl as ["label", …] or "a, b"',
        )
    labels = tuple(dict.fromkeys(label for part in parts if (label := _clean(part).strip().strip("\"'"))))
    if not labels:
        # An empty list would mean "nobody" to one reader and "everybody" to another.
        raise ItemError(
            "field acl: no label in it", stage="parse", fix="name at least one label, or remove acl"
        )
    if long := next(
        (label for label in labels if len(label) > LABEL_CHARACTERS or not label.isprintable()), None
    ):
        raise ItemError(
            f"field acl: {long[:40]!r} is no label",
            stage="parse",
            fix=f"use printable characters, at most {LABEL_CHARACTERS}",
        )
    return labels


def _json(key: str, value: Any) -> Any:
    try:
        return storable_json(value)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ItemError(f"field {key}: {reason}", stage="parse", fix=f"correct {key} or remove it") from None


_EDITIONS = ("rev", "revision", "version")


def _recognise_edition(stated: Stated, meta: Mapping[str, Any]) -> None:
    """`doc: procedure` beside `rev: 4` is how controlled documents name the item and its edition."""
    if stated.get("item") is None and isinstance(item := meta.get("doc"), str) and item.strip():
        number = stated.get("edition") or next(
            (str(meta[n]) for n in _EDITIONS if isinstance(meta.get(n), int | str)), None
        )
        if number is not None:
            stated["item"], stated["edition"] = item.strip(), number.strip()


def _check_validity(stated: Stated) -> None:
    begin, end = stated.get("valid_from"), stated.get("valid_to")
    if begin and end and end < begin:
        raise ItemError(
            f"valid_to {end} is before valid_from {begin}", stage="parse", fix="swap or correct the two dates"
        )
