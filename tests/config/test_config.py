"""Where values come from, which one wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.project.repository import ROOT, blocks

from veraz.config import SECTIONS, Config, load, variables
from veraz.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    file = folder / "veraz.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refused(*args: object, **kwargs: object) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(*args, **kwargs)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert caught.value.fix
    return caught.value


def test_defaults_need_no_file() -> None:
    assert load(environ={}) == Config()


def test_another_engine_orders_by_itself() -> None:
    assert load(environ={"VERAZ_SEARCH_LEXICAL": "pg_search"}).search.lexical == "pg_search"
    both = {"VERAZ_SEARCH_LEXICAL": "pg_search", "VERAZ_SEARCH_SCORER": "ts_rank_cd"}
    assert "scorer = ts_rank_cd orders what postings found" in refused(environ=both).what
    assert "lexical_timeout" in refused(environ={"VERAZ_SEARCH_LEXICAL_TIMEOUT": "0"}).what


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'tenant = "file"\nroles = ["file"]\n[search]\npool = 7\n')
    environ = {"VERAZ_TENANT": "environment", "VERAZ_SEARCH_POOL": "8"}
    config = load(file, environ, {"tenant": "flag", "database.url": None})
    assert (config.tenant, config.roles, config.search.pool) == ("flag", ("file",), 8)


def test_variables_reach_every_section() -> None:
    environ = {
        "VERAZ_HOME": "/tmp/somewhere",
        "VERAZ_DATABASE_URL": "postgresql://a/b",
        "VERAZ_RUNTIME_URL": "postgresql://c/d",
        "VERAZ_SEARCH_SEMANTIC_WEIGHT": "0.25",
        "VERAZ_EMBEDDER_OPTIONS": '{"threads": 1}',
        "VERAZ_ROLES": "nurse, public,",
    }
    config = load(environ=environ)
    assert config.home_path == Path("/tmp/somewhere")
    assert config.model_cache == Path("/tmp/somewhere/models")
    assert (config.database.url, config.database.runtime_url) == ("postgresql://a/b", "postgresql://c/d")
    assert config.search.semantic_weight == 0.25
    assert config.embedder.options == {"threads": 1}
    assert config.roles == ("nurse", "public")


def test_every_listed_variable_is_accepted() -> None:
    assert {f"VERAZ_{s}_{k}".upper() for s, c in SECTIONS.items() for k in c.__struct_fields__} <= set(
        variables()
    )
    values = {
        "VERAZ_EMBEDDER_OPTIONS": "{}",
        "VERAZ_EMBEDDER_DISTANCE": "inner_product",
        "VERAZ_SEARCH_FUSION": "rrf",
        "VERAZ_INGEST_CHUNK_TOKENS": "64",
        "VERAZ_INGEST_PARSE_MEMORY_MB": "64",
        "VERAZ_INGEST_CONTEXT": "llm",
        "VERAZ_INGEST_CONTEXT_TOKENS": "32",
        "VERAZ_INGEST_CONTEXT_WINDOW": "1000",
        "VERAZ_INGEST_CONTEXT_FAILURE": "refuse",
        "VERAZ_CONTEXT_BUDGET": "500",
        "VERAZ_CHAT_OPTIONS": '{"seed": 1}',
        "VERAZ_SEARCH_RERANK": "maxsim",
        "VERAZ_SEARCH_SCORER": "ts_rank_cd",
        "VERAZ_SEARCH_LEXICAL": "postings",
        "VERAZ_FILTERS_META": '{"dose.mg": "number"}',
        "VERAZ_RERANK_OPTIONS": '{"cohere": {"model": "m"}}',
        "VERAZ_AUTH_ALGORITHMS": "RS256,ES256",
        "VERAZ_AUTH_ROLES": '{"nurse": ["clinical"]}',
        "VERAZ_DATABASE_PREPARE": "off",
    }
    beside_jwks = "VERAZ_AUTH_SECRET_ENV"  # refused there
    load(environ={name: values.get(name, "1") for name in variables() if name != beside_jwks})


@pytest.mark.parametrize("text", ["", " ", "\t"])
@pytest.mark.parametrize("name", [*variables(), "VERAZ_CONFIG"])
def test_an_empty_variable_is_refused_by_name(name: str, text: str) -> None:
    """A forgotten value must not fall back to a default: to the tenant `default`, or to the embedded server."""
    assert refused(environ={name: text}).what == f"{name} is empty"


@pytest.mark.parametrize("flag", ["tenant", "roles", "database.url"])
def test_an_empty_flag_is_refused_by_name(flag: str) -> None:
    assert refused(environ={}, flags={flag: ""}).what == f"--{flag.split('.')[0]} is empty"


def test_a_blank_url_of_the_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, '[database]\nurl = " "')
    assert "url is blank" in refused(tmp_path / "veraz.toml", {}).what


def test_the_file_is_found_by_variable_and_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(environ={}).tenant == "default"
    write(tmp_path, 'tenant = "here"')
    assert load(environ={}).tenant == "here"
    other = tmp_path / "other.toml"
    other.write_bytes("\ufefftenant = 'other'".encode())
    assert load(environ={"VERAZ_CONFIG": str(other)}).tenant == "other"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tenent = 'x'", "unknown key 'tenent'"),
        ("[search]\npol = 3", "unknown key 'pol' in [search]"),
        ("search = 3", "search is a section"),
        ("[serch]\npool = 3", "unknown key 'serch'"),
        ("[search]\npool = 'many'", "search.pool: Expected `int`"),
        ("[search]\npool = 0", "search.pool: pool is 0, and must be at least 1"),
        ("[search]\nef_search = 2000", "search.ef_search: ef_search is 2000, and must be between 1 and 1000"),
        ("[search]\nfusion = 'magic'", "search.fusion: Invalid enum value 'magic'"),
        ("[embedder]\ndistance = 'ip'", "embedder.distance: Invalid enum value 'ip'"),
        ("[answer]\nthreshold = 1.5", "answer.threshold: threshold is 1.5"),
        ("roles = []", "roles: roles must name at least one role"),
        ("roles = [1]", "roles: Expected `str`"),
        ("tenant = ", "veraz.toml: Invalid value"),
    ],
)
def test_a_bad_file_is_named_with_the_key(tmp_path: Path, text: str, said: str) -> None:
    error = refused(write(tmp_path, text), {})
    assert "veraz.toml" in error.what
    assert said in error.what


def test_a_near_miss_is_suggested(tmp_path: Path) -> None:
    assert "did you mean 'pool'?" in str(refused(write(tmp_path, "[search]\npol = 3"), {}))
    assert "did you mean VERAZ_TENANT?" in str(refused(environ={"VERAZ_TENNANT": "x"}))


@pytest.mark.parametrize("name", ["VERAZ_SEARCH_COLOUR", "VERAZ_COLOUR", "VERAZ_SEARCH", "VERAZ_"])
def test_an_unknown_variable_is_refused(name: str) -> None:
    assert refused(environ={name: "1"}).what == f"{name}: unknown variable"


def test_a_bad_value_names_its_variable_or_flag() -> None:
    assert refused(environ={"VERAZ_SEARCH_POOL": "x"}).what.startswith("VERAZ_SEARCH_POOL: Expected `int`")
    assert refused(environ={"VERAZ_ANSWER_THRESHOLD": "-1"}).what.startswith(
        "VERAZ_ANSWER_THRESHOLD: threshold is -1"
    )
    assert refused(environ={"VERAZ_EMBEDDER_OPTIONS": "{"}).what.startswith(
        "VERAZ_EMBEDDER_OPTIONS: not valid JSON"
    )
    assert refused(environ={}, flags={"tenant": " "}).what == "--tenant is empty"
    assert refused(environ={}, flags={"roles": ","}).what.startswith("--roles: roles must name")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "no such configuration file" in refused(tmp_path / "none.toml", {}).what


def test_configuration_is_frozen() -> None:
    with pytest.raises(AttributeError):
        load(environ={}).tenant = "other"  # type: ignore[misc]


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_every_section_explains_its_keys(section: type[msgspec.Struct]) -> None:
    undocumented = {name for name in section.__struct_fields__ if f"`{name}`" not in (section.__doc__ or "")}
    assert undocumented == set()


def test_the_documented_mapping_of_tokens_is_one(tmp_path: Path) -> None:
    (shown,) = blocks(ROOT / "docs/how-to/keys-and-tokens.md", "toml")
    auth = load(write(tmp_path, shown), {}).auth
    assert auth.enabled
    assert auth.roles["editor"] == ("clinical", "drafts")
    assert auth.write_roles == ("editor",)


def test_a_mapping_in_a_variable_is_json_and_its_lists_are_lists() -> None:
    environ = {
        "VERAZ_AUTH_ROLES": '{"nurse": ["clinical"]}',
        "VERAZ_AUTH_DEFAULT_ROLES": "public, staff",
        "VERAZ_AUTH_PASS_ROLES": "true",
    }
    auth = load(environ=environ).auth
    assert (auth.roles, auth.default_roles, auth.pass_roles) == (
        {"nurse": ("clinical",)},
        ("public", "staff"),
        True,
    )
    assert "VERAZ_AUTH_ROLES: not valid JSON" in refused(environ={"VERAZ_AUTH_ROLES": "nurse"}).what
    assert (
        "VERAZ_AUTH_ALGORITHMS: algorithms names none"
        in refused(environ={"VERAZ_AUTH_ALGORITHMS": "none"}).what
    )


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"VERAZ_INGEST_CONTEXT": "llm"}, "set url and model of [chat]"),
        ({"VERAZ_INGEST_CONTEXT": "yes"}, "VERAZ_INGEST_CONTEXT: Invalid enum value 'yes'"),
        ({"VERAZ_CHAT_URL": "http://localhost:1/v1"}, "url and model must be set together"),
        ({"VERAZ_CHAT_API_KEY_ENV": "VERAZ_KEY"}, "must not begin with VERAZ_"),
        ({"VERAZ_CHAT_CONCURRENCY": "0"}, "VERAZ_CHAT_CONCURRENCY: concurrency is 0"),
        (
            {
                "VERAZ_INGEST_CONTEXT": "llm",
                "VERAZ_CHAT_URL": "http://localhost:1/v1",
                "VERAZ_CHAT_MODEL": "m",
                "VERAZ_INGEST_CHUNK_TOKENS": "100",
                "VERAZ_INGEST_CONTEXT_TOKENS": "60",
            },
            "at most half of chunk_tokens",
        ),
    ],
)
def test_contexts_without_a_model_or_without_room_are_refused(environ: dict[str, str], says: str) -> None:
    assert says in refused(environ=environ).what


def test_options_of_rerankers_are_by_name(tmp_path: Path) -> None:
    path = tmp_path / "veraz.toml"
    path.write_text(
        '[search]\nrerank = "cohere"\nrerank_pool = 20\n[rerank.options.cohere]\nmodel = "m"\nweight = 0.8\n',
        encoding="utf-8",
    )
    config = load(path, {})
    assert (config.search.rerank, config.search.rerank_pool) == ("cohere", 20)
    assert config.rerank.options == {"cohere": {"model": "m", "weight": 0.8}}
    for wrong in ("cohear", "none"):
        path.write_text(f"[rerank.options.{wrong}]\nmodel = 'm'\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=f"names {wrong}; known: maxsim, cross-encoder"):
            load(path, {})
