"""Resets, for one test, what the process knows of an unavailable stream server."""

import pytest

from openbrain.streams.redis import outage


@pytest.fixture(autouse=True)
def one_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget failures left by an earlier test: they would keep an outage open, and it would not be logged again."""
    monkeypatch.setattr(outage.PROCESS, "_failing", type(outage.PROCESS._failing)())
    monkeypatch.setattr(outage.PROCESS, "_reported", set())
