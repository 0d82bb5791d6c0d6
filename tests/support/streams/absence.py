"""What a process knows of an absent stream server, for one test."""

import pytest

from openbrain.streams.redis import outage


@pytest.fixture(autouse=True)
def one_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test before left in trouble must not keep an absence open here: its line would not be logged again."""
    monkeypatch.setattr(outage.PROCESS, "_failing", type(outage.PROCESS._failing)())
    monkeypatch.setattr(outage.PROCESS, "_reported", set())
