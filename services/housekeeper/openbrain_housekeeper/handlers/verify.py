"""Operation `verify`: compares every index with the database, and repairs it if requested."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from openbrain.ports.store.operations import Operation, Progress
from openbrain_housekeeper.reconciliation.comparison import ComparisonOptions
from openbrain_housekeeper.reconciliation.verification import Verification, Verifier, lift


class Verifying:
    """Operation `verify`. Its state is in this process only: another process that takes it over starts again, and so
    does this one after an error."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._runs: dict[str, tuple[Verification, AsyncIterator[bool]]] = {}
        self._lifts: dict[str, AsyncIterator[int]] = {}

    async def __call__(self, operation: Operation) -> Progress:
        """Do the next step. `done` counts the entries that should exist."""
        request = operation.request
        if request.get("restored") and "lifted" not in operation.result:
            return await self._lift(operation)
        if operation.id not in self._runs:
            verification = Verification(self._verifier, self._options(request))
            self._runs[operation.id] = verification, verification.pieces()
        run, pieces = self._runs.pop(operation.id)
        kept = {name: value for name, value in operation.result.items() if name == "lifted"}
        try:
            waits = await anext(pieces)
        except StopAsyncIteration:
            return Progress(done=run.seen, total=run.seen, result=kept | run.summary(), finished=True)
        self._runs[operation.id] = run, pieces
        return Progress(done=run.seen, result=kept | run.summary(), waits=waits)

    async def _lift(self, operation: Operation) -> Progress:
        lifts = self._lifts.pop(operation.id, None) or lift(self._verifier)
        lifted = int(operation.result.get("lifting", 0))
        try:
            lifted = await anext(lifts)
        except StopAsyncIteration:
            return Progress(done=lifted, result={"lifted": lifted})
        self._lifts[operation.id] = lifts
        return Progress(done=lifted, result={"lifting": lifted})

    def _options(self, request: Mapping[str, Any]) -> ComparisonOptions:
        own = self._verifier.options
        return ComparisonOptions(
            full=bool(request.get("full")),
            repair=bool(request.get("repair")),
            restored=bool(request.get("restored")),
            grace=own.grace,
            retention=own.retention,
        )

    async def clean_up(self, operation: Operation) -> None:
        """Drop this process's state of an operation that has ended."""
        self._runs.pop(operation.id, None)
        self._lifts.pop(operation.id, None)
