"""The computed settings, for machines of every size."""

from __future__ import annotations

import socket

from hypothesis import given
from hypothesis import strategies as st

from veraz.db.embedded.ports import is_free
from veraz.db.embedded.settings import MB, Machine, config_text, settings_for

GB = 1024 * MB


def _megabytes(text: str) -> int:
    assert text.endswith("MB")
    return int(text.removesuffix("MB"))


def test_a_machine_with_enough_memory_gets_the_full_sizes() -> None:
    settings = settings_for(Machine(memory=8 * GB, shared_memory_disk=4 * GB, has_utc_file=True))
    assert settings["shared_buffers"] == "512MB"
    assert settings["maintenance_work_mem"] == "512MB"
    assert settings["work_mem"] == "32MB"
    assert settings["timezone"] == "UTC"
    assert "dynamic_shared_memory_type" not in settings


@given(memory=st.integers(min_value=256 * MB, max_value=1024 * GB))
def test_the_fixed_sizes_take_at_most_half_of_the_memory(memory: int) -> None:
    settings = settings_for(Machine(memory, shared_memory_disk=4 * GB, has_utc_file=True))
    fixed = _megabytes(settings["shared_buffers"]) + _megabytes(settings["maintenance_work_mem"])
    assert fixed * MB <= memory / 2
    assert 32 <= _megabytes(settings["shared_buffers"]) <= 512


def test_a_container_with_a_small_shared_memory_disk_builds_indexes_in_files() -> None:
    settings = settings_for(Machine(memory=8 * GB, shared_memory_disk=64 * MB, has_utc_file=True))
    assert settings["dynamic_shared_memory_type"] == "mmap"


def test_without_time_zone_files_the_built_in_zone_is_named() -> None:
    settings = settings_for(Machine(memory=8 * GB, shared_memory_disk=4 * GB, has_utc_file=False))
    assert settings["timezone"] == settings["log_timezone"] == "GMT"


def test_durability_is_not_touched() -> None:
    settings = settings_for(Machine(memory=8 * GB, shared_memory_disk=4 * GB, has_utc_file=True))
    assert not {"fsync", "synchronous_commit", "full_page_writes"} & set(settings)


def test_values_are_quoted_as_the_configuration_file_wants() -> None:
    assert config_text({"log_directory": "/it's\\n"}).splitlines()[1] == "log_directory = '/it''s\\\\n'"


def test_a_listening_port_is_not_free_and_a_closed_one_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)
