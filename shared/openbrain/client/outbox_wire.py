"""Connections that lose no write while the server is away: a write that can't be sent is stored and sent later, in
order."""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from openbrain.client.outbox import FAILURES, Kept, Outbox, Owner, Write
from openbrain.client.wire import Wire, checked_headers, encoded, params_of
from openbrain.contract.admin.access import Whoami
from openbrain.contract.base import Answer
from openbrain.domain.errors import (
    Halted,
    Invalid,
    OpenBrainError,
    RateLimited,
    ServerFailed,
    SetupError,
    TryLater,
    Unauthorised,
)
from openbrain.domain.text.control_characters import plain_json

A = TypeVar("A", bound=BaseModel)
LOOK_S = 30
"""How often the file is looked at for writes of other processes."""
_ESCAPES = "/v1/thoughts"
"""The API escapes control characters in these, and refuses them in all other texts."""


class _Item(Answer):
    status: str = ""
    message: str | None = None


class _Stored(Answer):
    """The answer to a write; that to a batch has a result for each item."""

    results: tuple[_Item, ...] = ()

    @property
    def refusal(self) -> str:
        """Why items of a batch were refused; '' if none was."""
        refused = [item for item in self.results if item.status == "refused"]
        many = f"{len(refused)} of {len(self.results)} were refused"
        return f"{many}, the first because of this: {refused[0].message}" if refused else ""


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

    async def enter_loop(self) -> bool:
        if not await super().enter_loop():
            return False
        waits, self.kept, self._turn = self.kept.is_set(), asyncio.Event(), asyncio.Lock()
        if waits:
            self.kept.set()
        return True

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
        with self._usable():
            waiting = self._outbox.waiting()
        if waiting:
            raise await self._keep(write, "earlier writes are still unsent")
        try:
            return await super().ask(model, method, path, body=body, query=query, headers=write.headers, **rest)
        except (RateLimited, Halted):
            raise  # the server's own answer: the agent must see it
        except Unauthorised as error:
            if not self._owner.workspace_id:
                raise  # the server has never accepted this key
            raise await self._keep(
                write, "the key is no longer accepted: replace it with its successor, then restart"
            ) from error
        except TryLater as error:
            raise await self._keep(write, str(error)) from error

    async def identify(self, *, again: bool = False) -> bool:
        """Ask the server once, or `again`, whose key this is; False while it can't be asked."""
        if self._owner.workspace_id and not again:
            return True
        try:
            who = await super().ask(Whoami, "GET", "/v1/whoami")
        except OpenBrainError:
            return False
        self._owner = Owner(self._owner.key_hash, who.workspace_id, who.agent_id or "")
        return True

    async def unsent(self) -> None:
        """Wait for unsent writes, also those of another process that shares the file and has ended before it could send
        them."""
        while not self.kept.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self.kept.wait()
            with contextlib.suppress(sqlite3.Error, OSError):
                if self._outbox.waiting():
                    self.kept.set()

    async def deliver(self) -> bool:
        """Send the unsent writes, in order. Return True if none is left. A write that the server will never accept is
        set aside."""
        try:
            return await self._deliver()
        except (sqlite3.Error, OSError):
            return False  # the file can't be used now, as on a full disk

    async def _deliver(self) -> bool:
        async with self._turn:
            if not await self.identify():
                return False
            if self._outbox.waiting():
                self._outbox.give_to(self._owner)
            with self._outbox.delivering() as ours:
                while ours and (next_write := self._outbox.first(self._owner)):
                    if not await self._settle(*next_write):
                        return False
        if self._outbox.waiting():
            return False
        self.kept.clear()
        return True

    async def _settle(self, number: int, write: Write) -> bool:
        """Send a write, and remove it or set it aside. False if it has to wait."""
        try:
            stored = await super().ask(
                _Stored, write.method, write.path, body=write.body, query=write.query, headers=write.headers
            )
        except OpenBrainError as error:
            passes = isinstance(error, TryLater | Unauthorised) and not isinstance(error, ServerFailed)
            if passes or not await self.identify(again=True):
                return False  # or it fails on everything, or another server answers at this address
            if isinstance(error, ServerFailed | SetupError):  # the latter: a proxy's answer, or one that was cut off
                return self._set_aside_after_failures(number, error)
            self._outbox.refuse(number, str(error))
        else:
            if reason := stored.refusal:
                self._outbox.refuse(number, reason)
            else:
                self._outbox.delivered(number)
        return True

    def _set_aside_after_failures(self, number: int, error: OpenBrainError) -> bool:
        """Count a failure. True if the write is set aside now, so that later ones are sent."""
        if self._outbox.failed(number) < FAILURES:
            return False
        self._outbox.refuse(number, str(error))
        return True

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            path = self._outbox.path
            raise SetupError(f"the outbox {path} can't be used ({error}): look at its folder and disk") from error

    async def _keep(self, write: Write, why: str) -> Kept:
        """Store the write as it would be sent. `Invalid` if it can't be: it would stop the delivery of later ones."""
        headers = checked_headers(write.headers, json=write.body is not None)
        body = None if write.body is None else json.loads(encoded(write.body))
        if body and not write.path.startswith(_ESCAPES):
            _refuse_control_characters(body)
        self.request(write.method, write.path, None, params_of(write.query), headers)
        with self._usable():
            before = self._outbox.owner()
            if before is not None and not before.same_as(self._owner):
                await self.identify()
            self._outbox.keep(replace(write, body=body), self._owner)
        self.kept.set()
        return Kept(why)


def _refuse_control_characters(body: Mapping[str, Any]) -> None:
    for name, value in body.items():
        try:
            plain_json(value)
        except ValueError as error:
            raise Invalid(name, str(error)) from None
