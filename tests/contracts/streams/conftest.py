"""Fixtures of streams: what operators see of them, and do to them."""

import pytest

from openbrain.streams.redis import outage
from tests.support.streams.views import admin, redis, settings, work

__all__ = ["admin", "redis", "settings", "work"]


@pytest.fixture(autouse=True)
def one_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test before left in trouble must not keep an absence open here."""
    monkeypatch.setattr(outage.PROCESS, "_failing", type(outage.PROCESS._failing)())
    monkeypatch.setattr(outage.PROCESS, "_told", set())
