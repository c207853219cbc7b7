"""An issuer for all tests of tokens: its keys take a while to make."""

from __future__ import annotations

import pytest
from tests.identity.token_issuer import Issuer


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    return Issuer(tmp_path_factory.mktemp("issuer"))
