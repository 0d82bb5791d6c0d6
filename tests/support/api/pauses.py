"""A client whose pauses between attempts take no time."""

from types import SimpleNamespace

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, in seconds; they are recorded instead of slept."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr("openbrain.client.wire.asyncio", SimpleNamespace(sleep=sleep))
    return found
