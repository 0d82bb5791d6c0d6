"""Fixtures of the contracts: a truth of its own for each test, on each database."""

import pytest

from openbrain.adapters.sql.database import Database
from openbrain.adapters.sql.truth import SqlTruth
from tests.index_adapters import text_index, vector_index
from tests.truth_support import FakeClock, clock, database, database_url

__all__ = ["clock", "database", "database_url", "text_index", "truth", "vector_index"]


@pytest.fixture
def truth(database: Database, clock: FakeClock) -> SqlTruth:
    """All ports on the test's database and clock."""
    return SqlTruth(database, clock)
