"""Fixtures of the command line: the API that commands call."""

import sys
from collections.abc import Iterator

import pytest
import structlog

from tests.support.api.brain import brain, brain_database_url, module_brain, module_database_url
from tests.support.store.fixtures import clock, database, database_url, mariadb_tables, mariadb_tables_url, store
from tests.support.vault.ticking import pages

__all__ = [
    "brain",
    "brain_database_url",
    "clock",
    "database",
    "database_url",
    "mariadb_tables",
    "mariadb_tables_url",
    "module_brain",
    "module_database_url",
    "pages",
    "store",
]


@pytest.fixture(autouse=True)
def logs_apart() -> Iterator[None]:
    """Keep the API's log lines out of what commands print, because the API runs in their process here."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))
    yield
    structlog.configure(**before)
