"""A command that ends before its operation says that this goes on."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from openbrain.domain.errors import Conflict, TryLater
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


async def test_what_was_started_before_a_refusal_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    async def start(index: str, **_: Any) -> Any:
        if index == "vector":
            raise Conflict("this index is already being rebuilt, by the operation op-0")
        return SimpleNamespace(index=SimpleNamespace(value=index), operation=SimpleNamespace(id="op-1"))

    brain: Any = SimpleNamespace(reindex=start)
    with pytest.raises(Conflict):
        await reindex._all(brain, ["text", "vector"], {}, re_embed=False, dry_run=False, wait=True, quiet=True)

    assert capsys.readouterr().err == "text: operation op-1 goes on\n"
