"""Builds the context engine once per run."""

from pathlib import Path

import pytest
import pytest_asyncio

from tests.integration.conftest import servers, started
from tests.openclaw.harness.plugin import built_plugin

__all__ = ["servers", "started"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built plugin."""
    return await built_plugin(tmp_path_factory.mktemp("engine"))
