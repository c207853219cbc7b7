"""Configuration: veraz.toml, VERAZ_* over it, flags over both. Frozen; unknown keys are errors.

Every stage receives its own section and nothing else. An error names the file, variable or flag that a value came from.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import platformdirs

from veraz.errors import ConfigError
from veraz.nouns.distance import Distance
from veraz.nouns.filter import FieldType
from veraz.nouns.fusion import Fusion
from veraz.nouns.lexical import LexicalName
from veraz.nouns.rerank import RERANKERS, RerankerName

REFERENCE = "docs/reference/configuration.md"
MOST_EF_SEARCH = 1000
"""pgvector takes no more."""
MOST_PROBES = 32_768
"""pgvector takes no more."""
LEAST_BUDGET = 16
MOST_BUDGET = 1_000_000
MOST_NEIGHBOURS = 50
MOST_OVERSAMPLING = 1000


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    def _between(self, low: float, high: float, *names: str) -> None:
        for name in names:
            if not low <= getattr(self, name) <= high:
                limits = f"at least {low}" if high == float("inf") else f"between {low} and {high}"
                raise ValueError(f"{name} is {getattr(self, name)}, and must be {limits}")

    def _at_least(self, low: int, *names: str) -> None:
        self._between(low, float("inf"), *names)


class DatabaseConfig(_Section, frozen=True):
    """`url`: the administrator's; empty for the embedded server. `runtime_url`: the unprivileged login that serves;
    `pool_size`: the most connections of one process. `prepare`: whether statements are prepared on the server: on, off, or auto,
    which does so unless a pooler such as PgBouncer stands in between."""

    url: str = ""
    runtime_url: str = ""
    pool_size: int = 4
    prepare: Literal["auto", "on", "off"] = "auto"

    def __post_init__(self) -> None:
        self._at_least(1, "pool_size")
        for name in ("url", "runtime_url"):
            if (value := getattr(self, name)) and not value.strip():
                raise ValueError(f"{name} is blank")


class EmbedderConfig(_Section, frozen=True):
    """`name`: local, openai or hub. `distance`: how vectors are compared, cosine, inner_product or l2; a database keeps the one
    that it was made with. `options` are the adapter's own."""

    name: str = "local"
    distance: Distance = "cosine"
    options: dict[str, Any] = {}


class IngestConfig(_Section, frozen=True):
    """`chunk_tokens`: the most tokens of one chunk as embedded, header, prefix and special tokens included. `chunker`: how
    documents of sources that state none are cut, with options as in `fixed:size=200,overlap=40`. `header`: whether chunks are
    embedded with their contextual header. `title_weight`: how often the words of that header count in the lexical arm of what is
    ingested from then on. `context`: none, or llm, which has the model of [chat] write a line about each chunk,
    of `context_tokens` at most (documents are cut that much smaller), from the document, or from `context_window` characters of
    a longer one; where the model fails, `context_failure` has documents ingested without (header) or refused (refuse).
    `workers` processes
    parse documents, 0 being one a processor; there a document may take `parse_seconds` and `parse_memory_mb`. With `isolated`
    false they are parsed in the calling process, without limits. `ocr`: whether pages of PDF files that hold no text are
    recognised, which needs the extra of that name; such a document may take four times `parse_seconds` more for each of
    these pages, and 1 GiB more."""

    chunk_tokens: int = 512
    chunker: str = "structure"
    header: bool = True
    title_weight: int = 1
    context: Literal["none", "llm"] = "none"
    context_tokens: int = 96
    context_window: int = 12_000
    context_failure: Literal["header", "refuse"] = "header"
    isolated: bool = True
    workers: int = 0
    parse_seconds: float = 30.0
    parse_memory_mb: int = 1024
    ocr: bool = False

    def __post_init__(self) -> None:
        self._at_least(32, "chunk_tokens")
        self._between(1, 5, "title_weight")
        self._at_least(8, "context_tokens")
        self._at_least(1_000, "context_window")
        if self.context != "none" and self.context_tokens > self.chunk_tokens // 2:
            raise ValueError("context_tokens must be at most half of chunk_tokens: the rest is for the text")
        self._at_least(0, "workers")
        self._at_least(1, "parse_seconds")
        self._at_least(64, "parse_memory_mb")


class ChatConfig(_Section, frozen=True):
    """A model that answers OpenAI's `/chat/completions` call; none while `url` is empty. `url`: the server's base, such as
    `https://api.openai.com/v1`; `model`: its name there. `api_key_env`: the environment variable that holds its key; while
    empty, none is sent. `max_tokens`: of one answer; `temperature`: 0 for the same each time. `timeout` bounds one attempt, and
    `max_wait` what a request waits between attempts, in seconds; `concurrency` requests are under way at once. `options` are
    added to each request, over what stands there."""

    url: str = ""
    model: str = ""
    api_key_env: str = ""
    max_tokens: int = 512
    temperature: float = 0.0
    timeout: float = 60.0
    max_wait: float = 120.0
    concurrency: int = 4
    options: dict[str, Any] = {}

    def __post_init__(self) -> None:
        self._at_least(1, "max_tokens", "concurrency")
        self._between(0, 2, "temperature")
        self._between(0.1, float("inf"), "timeout")
        self._at_least(0, "max_wait")
        if bool(self.url) != bool(self.model):
            raise ValueError("url and model must be set together")
        if self.api_key_env.startswith("VERAZ_"):
            raise ValueError(
                "api_key_env must not begin with VERAZ_: such variables are keys of the configuration"
            )


class SearchConfig(_Section, frozen=True):
    """`pool` candidates an arm; `budget` postings read before the lexical arm stops being exact; `rescored` candidates get
    exact BM25 scores; `fusion` is minmax, rrf, zscore, dbsf or convex, `semantic_weight` the semantic arm's share in it, `rrf_k`
    the constant of rrf; `ef_search` and `max_scan_tuples` are pgvector's, as are the `probes` of a space with clusters;
    `oversampling` times the pool are the candidates of a space with an index of signs; 0: as recorded with the index. `fuzzy`:
    whether a word that nothing readable holds is read as one that differs by a slip. `scorer`: bm25, or ts_rank_cd, which orders
    the `rescored` best by BM25 by PostgreSQL's cover density. `lexical`: whose candidates the lexical arm takes, those of
    postings or of an extension, pg_textsearch or pg_search, that the server has and that was given an index (veraz index
    lexical); it has `lexical_timeout` seconds for a question, then the postings answer. `rerank`: none, maxsim, cross-encoder,
    cohere, voyage, jina or llm; it sees the first `rerank_pool` hits, and puts those in another order."""

    pool: int = 100
    rescored: int = 600
    budget: int = 200_000
    ef_search: int = 400
    max_scan_tuples: int = 40_000
    probes: int = 0
    oversampling: int = 0
    fusion: Fusion = "minmax"
    semantic_weight: float = 0.6
    rrf_k: int = 60
    fuzzy: bool = True
    scorer: Literal["bm25", "ts_rank_cd"] = "bm25"
    lexical: LexicalName = "postings"
    lexical_timeout: float = 2.0
    rerank: RerankerName = "none"
    rerank_pool: int = 20

    def __post_init__(self) -> None:
        self._at_least(1, "pool", "rescored", "budget", "max_scan_tuples", "rrf_k")
        self._between(1, 1000, "rerank_pool")
        self._between(1, MOST_EF_SEARCH, "ef_search")
        self._between(0, MOST_PROBES, "probes")
        self._between(0, MOST_OVERSAMPLING, "oversampling")
        self._between(0, 1, "semantic_weight")
        self._between(0.01, float("inf"), "lexical_timeout")
        if self.lexical != "postings" and self.scorer != "bm25":
            raise ValueError(
                f"scorer = {self.scorer} orders what postings found: leave it out, or lexical = {self.lexical}"
            )

    def reaching(self, k: int) -> SearchConfig:
        """The same with pools of at least `k` candidates: k hits are promised while so many match."""
        pool, ef_search = reach(self.pool, self.ef_search, k)
        return msgspec.structs.replace(self, pool=pool, ef_search=ef_search)


def reach(pool: int, ef_search: int, k: int) -> tuple[int, int]:
    """Pool and ef_search of a search for k hits."""
    return (pool, ef_search) if k <= pool else (k, max(ef_search, min(k, MOST_EF_SEARCH)))


class FiltersConfig(_Section, frozen=True):
    """`meta`: the types of keys of the metadata, as filter expressions read them: text, number, date, boolean or list; a dotted
    key is one inside another. A key that is not named is text."""

    meta: dict[str, FieldType] = {}

    def __post_init__(self) -> None:
        if blank := [key for key in self.meta if not all(part.strip() for part in key.split("."))]:
            raise ValueError(f"meta names {blank[0]!r}, which is no key")


class RerankConfig(_Section, frozen=True):
    """Settings of rerankers; `[search] rerank` names one. `timeout`: seconds for one question, attempts included;
    what takes longer leaves the fused order as it is. `options`: by the name of a reranker, its own, as in
    `[rerank.options.cohere]`; each takes `weight`, its share in the score from 0 to 1, of which the fused score has the rest."""

    timeout: float = 10.0
    options: dict[str, dict[str, Any]] = {}

    def __post_init__(self) -> None:
        self._between(0.01, float("inf"), "timeout")
        known = [name for name in RERANKERS if name != "none"]
        if unknown := sorted(set(self.options) - set(known)):
            raise ValueError(f"options names {', '.join(unknown)}; known: {', '.join(known)}")


class AnswerConfig(_Section, frozen=True):
    """`evidence` chunks are read for an answer; `sentences` at most are quoted, from at most `documents` documents; below
    `threshold` nothing is answered."""

    evidence: int = 12
    sentences: int = 8
    documents: int = 4
    threshold: float = 0.3

    def __post_init__(self) -> None:
        self._at_least(1, "evidence", "sentences", "documents")
        self._between(0, 1, "threshold")


class ContextConfig(_Section, frozen=True):
    """What a reader of hits is given: `context` in Python, and `per_document` for `search --group document`. `budget`: the most
    tokens of all passages with their labels. `neighbours`: chunks added before and behind each hit. `sections`: whether a hit
    brings its whole section where that fits. `per_document`: the most hits of one document; 0 for no limit."""

    budget: int = 4000
    neighbours: int = 1
    sections: bool = True
    per_document: int = 3

    def __post_init__(self) -> None:
        self._between(LEAST_BUDGET, MOST_BUDGET, "budget")
        self._between(0, MOST_NEIGHBOURS, "neighbours")
        self._between(0, 1000, "per_document")


class ObservabilityConfig(_Section, frozen=True):
    """`recall_sample`: the share of searches, 0.01 for one in a hundred, that are asked again exactly after they were answered,
    to see what the approximate arms missed; 0 for none. Recall is of the first `recall_k`; at most `recall_waiting` searches wait
    for it, and what comes then is dropped and counted."""

    recall_sample: float = 0.0
    recall_k: int = 10
    recall_waiting: int = 16

    def __post_init__(self) -> None:
        self._between(0, 1, "recall_sample")
        self._between(1, 1000, "recall_k")
        self._at_least(1, "recall_waiting")


ASYMMETRIC = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
SYMMETRIC = frozenset({"HS256", "HS384", "HS512"})


class AuthConfig(_Section, frozen=True):
    """Bearer tokens (JWT); off while neither `jwks` nor `secret_env` is set. `issuer` and `audience`: what a token must
    say. `jwks`: the issuer's public keys, a file or an https URL; or `secret_env`: the environment variable that holds a
    shared secret, with HS algorithms. `algorithms`: those accepted. `leeway`: seconds by which clocks may differ.
    `tenant_claim`, `roles_claim`, `subject_claim`: names of claims, or dotted paths into nested ones; an empty
    `tenant_claim` stands for the configured tenant. `roles`: from a value of the roles claim to the labels that it gives;
    other values give none unless `pass_roles`. `default_roles`: labels of every token. `write_roles`: values of the roles
    claim that may write. The subject gives the label `user:SUBJECT`."""

    issuer: str = ""
    audience: str = ""
    jwks: str = ""
    secret_env: str = ""
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    leeway: int = 30
    tenant_claim: str = "tenant"
    roles_claim: str = "roles"
    subject_claim: str = "sub"
    roles: dict[str, tuple[str, ...]] = {}
    pass_roles: bool = False
    default_roles: tuple[str, ...] = ()
    write_roles: tuple[str, ...] = ()

    @property
    def enabled(self) -> bool:
        return bool(self.jwks or self.secret_env)

    def __post_init__(self) -> None:
        self._between(0, 300, "leeway")
        if not self.roles_claim or not self.subject_claim:
            raise ValueError("roles_claim and subject_claim must not be empty")
        if unknown := sorted(set(self.algorithms) - ASYMMETRIC - SYMMETRIC):
            raise ValueError(
                f"algorithms names {', '.join(unknown)}; known: {', '.join(sorted(ASYMMETRIC | SYMMETRIC))}"
            )
        if self.enabled:
            self._check_keys()

    def _check_keys(self) -> None:
        if self.jwks and self.secret_env:
            raise ValueError("jwks and secret_env are both set: a token has one kind of key")
        if not (self.issuer and self.audience):
            raise ValueError(
                "issuer and audience must be set with jwks or secret_env: tokens for others are not accepted"
            )
        known = ASYMMETRIC if self.jwks else SYMMETRIC
        if not self.algorithms or not set(self.algorithms) <= known:
            kind = "public keys (jwks)" if self.jwks else "a shared secret (secret_env)"
            raise ValueError(f"algorithms must be of {', '.join(sorted(known))} with {kind}")
        if self.jwks.startswith("http://"):
            raise ValueError(
                "jwks must be a file or an https URL: keys over http can be exchanged on the way"
            )
        if self.secret_env.startswith("VERAZ_"):
            raise ValueError(
                "secret_env must not begin with VERAZ_: such variables are keys of the configuration"
            )


class Config(_Section, frozen=True):
    """`home` holds the embedded server and the model cache; empty for the user's data directory. `tenant` and `roles` are
    the identity that acts."""

    home: str = ""
    tenant: str = "default"
    roles: tuple[str, ...] = ("public",)
    database: DatabaseConfig = DatabaseConfig()
    embedder: EmbedderConfig = EmbedderConfig()
    ingest: IngestConfig = IngestConfig()
    chat: ChatConfig = ChatConfig()
    search: SearchConfig = SearchConfig()
    filters: FiltersConfig = FiltersConfig()
    rerank: RerankConfig = RerankConfig()
    answer: AnswerConfig = AnswerConfig()
    context: ContextConfig = ContextConfig()
    observability: ObservabilityConfig = ObservabilityConfig()
    auth: AuthConfig = AuthConfig()

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise ValueError("tenant is blank")
        if not self.roles or not all(role.strip() for role in self.roles):
            raise ValueError("roles must name at least one role, and no blank one")
        if self.ingest.context == "llm" and not self.chat.url:
            raise ValueError("ingest.context is llm, which needs a model: set url and model of [chat]")

    @property
    def home_path(self) -> Path:
        return (
            Path(self.home).expanduser()
            if self.home
            else Path(platformdirs.user_data_dir("veraz", appauthor=False))
        )

    @property
    def model_cache(self) -> Path:
        return self.home_path / "models"


SECTIONS: Mapping[str, type[_Section]] = {
    "database": DatabaseConfig,
    "embedder": EmbedderConfig,
    "ingest": IngestConfig,
    "chat": ChatConfig,
    "search": SearchConfig,
    "filters": FiltersConfig,
    "rerank": RerankConfig,
    "answer": AnswerConfig,
    "context": ContextConfig,
    "observability": ObservabilityConfig,
    "auth": AuthConfig,
}
_KEYS = tuple(name for name in Config.__struct_fields__ if name not in SECTIONS)
_ALIASES = {"VERAZ_RUNTIME_URL": ("database", "runtime_url")}
_NOT_KEYS = {"VERAZ_CONFIG", "VERAZ_DEBUG", "VERAZ_SHARED"}

Key = tuple[str, ...]


def load(
    path: Path | None = None, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Config:
    """Reads the file, then the environment, then `flags` (dotted names to values; None values are ignored).

    Without `path` the file is $VERAZ_CONFIG, else veraz.toml in the working directory if there is one. Raises ConfigError.
    """
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    origins: dict[Key, str] = {}
    file = path or _default_file(environ)
    if file:
        _take_file(values, origins, file)
    for name, text in sorted(environ.items()):
        if name.startswith("VERAZ_") and name not in _NOT_KEYS:
            key = _environment_key(name)
            _put(values, origins, key, _from_text(name, key, _stated(name, text)), name)
    for dotted, value in (flags or {}).items():
        if value is not None:
            flag = f"--{dotted.split('.')[0]}"
            _put(values, origins, tuple(dotted.split(".")), _stated(flag, value), flag)
    return _convert(values, origins)


def _stated(origin: str, value: Any) -> Any:
    """The value, unless it is blank: what somebody forgot to fill in must not fall back to a default, such as another tenant."""
    if isinstance(value, str) and not value.strip():
        raise ConfigError(f"{origin} is empty", fix="give it a value, or leave it out: an unset one is fine")
    return value


def _default_file(environ: Mapping[str, str]) -> Path | None:
    if (named := environ.get("VERAZ_CONFIG")) is not None:
        return Path(_stated("VERAZ_CONFIG", named)).expanduser()
    here = Path("veraz.toml")
    return here if here.is_file() else None


def _take_file(values: dict[str, Any], origins: dict[Key, str], path: Path) -> None:
    for name, value in _read_file(path).items():
        if name not in SECTIONS:
            _check_known(name, _KEYS + tuple(SECTIONS), f"{path}: unknown key {name!r}")
            _put(values, origins, (name,), value, f"{path}: {name}")
        elif not isinstance(value, dict):
            raise ConfigError(
                f"{path}: {name} is a section, not a value", fix=f"write [{name}] and its keys below it"
            )
        else:
            for key, inner in value.items():
                known = SECTIONS[name].__struct_fields__
                _check_known(key, known, f"{path}: unknown key {key!r} in [{name}]")
                _put(values, origins, (name, key), inner, f"{path}: {name}.{key}")


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such configuration file", fix="check --config or VERAZ_CONFIG"
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}", fix="mend the file; it must be TOML in UTF-8") from error


def _check_known(name: str, known: Sequence[str], what: str) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(what, fix=f"{meant}known: {', '.join(known)}")


def _environment_key(name: str) -> Key:
    if name in _ALIASES:
        return _ALIASES[name]
    plain = name.removeprefix("VERAZ_").lower()
    if plain in _KEYS:
        return (plain,)
    section, _, key = plain.partition("_")
    if section in SECTIONS and key in SECTIONS[section].__struct_fields__:
        return section, key
    known = variables()
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(f"{name}: unknown variable", fix=f"{meant}unset it, or use one of: {', '.join(known)}")


def variables() -> tuple[str, ...]:
    """Every environment variable that sets a key."""
    inner = [
        f"VERAZ_{s}_{key}".upper() for s, section in SECTIONS.items() for key in section.__struct_fields__
    ]
    return tuple(sorted([*(f"VERAZ_{key}".upper() for key in _KEYS), *_ALIASES, *inner]))


def _from_text(name: str, key: Key, text: str) -> Any:
    if not isinstance(_default(key), dict):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"{name}: not valid JSON: {error}", fix='write a JSON object: {"batch": 16}'
        ) from error


def _put(values: dict[str, Any], origins: dict[Key, str], key: Key, value: Any, origin: str) -> None:
    *parents, last = key
    for parent in parents:
        values = values.setdefault(parent, {})
    values[last] = _split(value) if isinstance(value, str) and isinstance(_default(key), tuple) else value
    origins[key] = origin


def _default(key: Key) -> Any:
    """The default of a key, which says what kind of value it takes; None for what is no key."""
    section: Any = Config()
    for name in key:
        section = getattr(section, name, None)
    return section


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _convert(values: dict[str, Any], origins: Mapping[Key, str]) -> Config:
    try:
        return msgspec.convert(values, Config, strict=False)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        key = tuple(part for part in re.split(r"[.\[`]", place) if part)
        origin = _origin(key, what, origins)
        raise ConfigError(f"{origin}: {what}", fix=f"see {REFERENCE}") from error


def _origin(key: Key, what: str, origins: Mapping[Key, str]) -> str:
    """Where the value at `key` came from. A section's own check names the key in its message only."""
    named = (*key, what.split(" ")[0])
    for candidate in (key[:2], key[:1], named):
        if candidate in origins:
            return origins[candidate]
    return "configuration"
