"""Connections that lose no write while the server is away: a write that can't be sent is stored and sent later, in
order."""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from openbrain.client.outbox import FAILURES, Kept, Outbox, Owner, Write
from openbrain.client.wire import Wire
from openbrain.contract.admin.access import Whoami
from openbrain.contract.base import Answer
from openbrain.domain.errors import Halted, OpenBrainError, RateLimited, ServerFailed, TryLater, Unauthorised

A = TypeVar("A", bound=BaseModel)


class OutboxWire(Wire):
    """Connections with an outbox behind them."""

    def __init__(self, outbox: Outbox, url: str, key: str = "", **options: Any) -> None:
        super().__init__(url, key, **options)
        self._outbox = outbox
        self._owner = Owner(hashlib.sha256(key.encode()).hexdigest())
        self._turn = asyncio.Lock()
        self.kept = asyncio.Event()
        """Set while the outbox has unsent writes."""
        if outbox.waiting():
            self.kept.set()

    async def close(self) -> None:
        await super().close()
        self._outbox.close()

    async def ask(
        self,
        model: type[A],
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        **rest: Any,
    ) -> A:
        """Send a request. Raises `Kept` if a write was stored for later."""
        write = Write(method, path, body, query or {}, headers or {})
        if rest.get("content") is not None or not write.kept:
            return await super().ask(model, method, path, body=body, query=query, headers=headers, **rest)
        write = write.keyed()
        if self._outbox.waiting():
            raise self._keep(write, "earlier writes are still unsent")
        try:
            return await super().ask(model, method, path, body=body, query=query, headers=write.headers, **rest)
        except (RateLimited, Halted):
            raise  # the server's own answer: the agent must see it
        except Unauthorised as error:
            if not self._owner.workspace_id:
                raise  # the server has never accepted this key
            raise self._keep(
                write, "the key is no longer accepted: replace it with its successor, then restart"
            ) from error
        except TryLater as error:
            raise self._keep(write, str(error)) from error

    async def identify(self) -> bool:
        """Ask the server once whose key this is; False while it can't be asked."""
        if self._owner.workspace_id:
            return True
        try:
            who = await super().ask(Whoami, "GET", "/v1/whoami")
        except OpenBrainError:
            return False
        self._owner = Owner(self._owner.key_hash, who.workspace_id, who.agent_id or "")
        return True

    async def deliver(self) -> bool:
        """Send the unsent writes, in order. Return True if none is left. A write that the server will never accept is
        set aside."""
        async with self._turn:
            if not await self.identify():
                return False
            if self._outbox.waiting():
                self._outbox.give_to(self._owner)
            with self._outbox.delivering() as ours:
                while ours and (next_write := self._outbox.first()):
                    number, write = next_write
                    try:
                        await super().ask(
                            Answer, write.method, write.path, body=write.body, query=write.query, headers=write.headers
                        )
                    except ServerFailed as error:
                        if self._outbox.failed(number) < FAILURES:
                            return False
                        self._outbox.refuse(number, str(error))  # so that later writes are sent
                    except (TryLater, Unauthorised):
                        return False
                    except OpenBrainError as error:
                        self._outbox.refuse(number, str(error))
                    else:
                        self._outbox.delivered(number)
        if self._outbox.waiting():
            return False
        self.kept.clear()
        return True

    def _keep(self, write: Write, why: str) -> Kept:
        self._outbox.keep(write)
        if self._outbox.owner() is None:
            self._outbox.give_to(self._owner)
        self.kept.set()
        return Kept(why)
