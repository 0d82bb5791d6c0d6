"""A command that ends before its operation says that this goes on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from openbrain.domain.errors import TryLater
from openbrain_cli.operators.indexes import reindex
from openbrain_cli.operators.operations import followed


class _Ending:
    """A client whose request ends with this error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def watch(self, _id: str, **_: str) -> AsyncIterator[Any]:
        for error in (self._error,):
            raise error
        yield


@pytest.mark.parametrize("error", [asyncio.CancelledError(), TryLater("can't reach http://127.0.0.1:9")])
async def test_an_operation_that_goes_on_is_told(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    brain: Any = _Ending(error)
    told = []
    for following in (followed(brain, "op-1", "w2"), reindex._followed(brain, "op-1", "text")):
        with pytest.raises(type(error)):
            await following
        told.append(capsys.readouterr().err)

    goes_on = "the operation goes on: openbrain operations watch op-1"
    assert told[0].startswith(f"{goes_on} --workspace w2, or end it: openbrain operations cancel op-1 --workspace w2")
    assert told[1].startswith(f"{goes_on}, or end it: openbrain operations cancel op-1")
