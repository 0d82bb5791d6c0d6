"""Unsent writes of a connection's hooks. They are never sent for another workspace or agent, whatever key is in the
connection later."""

import hashlib
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openbrain.domain.access.credentials import read_key
from openbrain.domain.errors import OpenBrainError, ServerFailed, TryLater
from openbrain_cli.agents.hooks.brain import Brain, Refused
from openbrain_cli.agents.hooks.call import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openbrain.client.outbox import Outbox, Owner, State, Write

KEY: Final = "idempotency-key"


class Unsent:
    """The outbox in a connection's folder. The file is created with the first write."""

    def __init__(self, folder: Path, brain: "Callable[[], Brain]") -> None:
        self._folder = folder
        self._file = folder / "outbox.sqlite3"
        self._brain = brain

    def __bool__(self) -> bool:
        return self._file.exists()

    def waiting(self) -> int:
        """The number of unsent writes."""
        with self._opened() as outbox:
            return outbox.waiting()

    def state(self, number: int) -> "State":
        """Return whether a write waits, was delivered or was refused."""
        with self._opened() as outbox:
            return outbox.state(number)

    def keep(self, write: "Write") -> int:
        """Store a write and return its number. `TryLater` as in `Outbox.keep`."""
        with self._opened() as outbox, self._telling_set_aside(outbox):
            before, owner = outbox.owner(), self._owner()
            if before is not None and owner is not None and not before.same_as(owner):
                with suppress(OpenBrainError):
                    owner = _identified(outbox, self._brain())
            return outbox.keep(write, owner)

    def _owner(self) -> "Owner | None":
        """The owner of the connection's key; None if that can't be read."""
        from openbrain.client.outbox import Owner

        with suppress(OpenBrainError):
            return Owner(_hash(read_key(self._folder / "key")))
        return None

    def deliver(self) -> None:
        """Deliver waiting writes in order; undeliverable ones stay, refused ones are set aside."""
        if not self:
            return
        from openbrain.client.outbox import FAILURES

        with self._opened() as outbox, outbox.delivering() as ours:
            if not ours or not outbox.waiting():
                return
            brain = self._brain()
            owner = _identified(outbox, brain)
            with self._telling_set_aside(outbox):
                if outbox.owner() != owner:
                    outbox.give_to(owner)
                while (first := outbox.first(owner)) is not None:
                    number, write = first
                    try:
                        brain.post(write.path, write.body or {}, key=write.headers[KEY])
                    except Refused as error:
                        _ask_owner(brain)  # else another server answers at this address
                        outbox.refuse(number, str(error))
                    except ServerFailed as error:
                        _ask_owner(brain)  # else it fails on everything
                        if outbox.failed(number) < FAILURES:
                            raise
                        outbox.refuse(number, str(error))
                    else:
                        outbox.delivered(number)

    @contextmanager
    def _telling_set_aside(self, outbox: "Outbox") -> "Iterator[None]":
        before = outbox.refused()
        try:
            yield
        finally:
            if (count := outbox.refused() - before) > 0:
                warn(
                    f"{count} writes are set aside in {self._file}: the brain refuses them, or they are of another "
                    "workspace or agent"
                )

    @contextmanager
    def _opened(self) -> "Iterator[Outbox]":
        """Open the outbox on demand: most hooks have nothing to store."""
        from openbrain.client.outbox import Outbox

        with closing(Outbox(self._file)) as outbox:
            yield outbox


def _identified(outbox: "Outbox", brain: Brain) -> "Owner":
    """The owner of the brain's key. The brain is asked once for each key."""
    from openbrain.client.outbox import Owner

    before, key_hash = outbox.owner(), _hash(brain.key)
    if before is not None and before.key_hash == key_hash and before.workspace_id:
        return before
    who = _ask_owner(brain)
    return Owner(key_hash, str(who["workspace_id"]), str(who.get("agent_id") or ""))


def _ask_owner(brain: Brain) -> "Mapping[str, Any]":
    """Ask whose key it is. `TryLater` if what answers is no OpenBrain, such as a proxy's page."""
    try:
        who = brain.get("/v1/whoami")
    except Refused as error:
        raise TryLater(str(error)) from None
    if not who.get("workspace_id"):
        raise TryLater(f"{brain.url} does not answer as an OpenBrain API")
    return who


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
