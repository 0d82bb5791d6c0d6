"""Ticks: the vault is kept now."""

from openbrain.client.wire import Wire
from openbrain.contract.vault.ticks import TickAccepted, TickAnswer


class Ticks:
    """Methods of the client for ticks (need `tick.run`)."""

    _wire: Wire

    async def request_tick(
        self, *, dry_run: bool = False, ai: bool = True, extract: bool = False, key: str = ""
    ) -> TickAccepted:
        """Ask for one. `dry_run`: nothing is written, and the report has the diff. The same `key`: the same tick."""
        query = {"dry_run": dry_run or None, "no_ai": not ai or None, "extract": extract or None}
        return await self._wire.ask(
            TickAccepted,
            "POST",
            "/tick",
            query=query,
            headers={"Idempotency-Key": key} if key else None,
            repeat=bool(key),
            well=(202,),
        )

    async def tick(self, job_id: str, *, wait: int = 0) -> TickAnswer:
        """The tick's state, at once or when it has ended, after `wait` seconds at the latest."""
        return await self._wire.ask(TickAnswer, "GET", f"/tick/{job_id}", query={"wait": wait or None})
