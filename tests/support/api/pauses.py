"""A client that does not wait between its attempts."""

from types import SimpleNamespace

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Those between attempts, which pass at once."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr("openbrain.client.wire.asyncio", SimpleNamespace(sleep=sleep))
    return found
