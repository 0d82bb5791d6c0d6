"""Streams, their groups and their dead letters. All of it needs an admin key of the workspace `system`."""

from collections.abc import Sequence
from datetime import datetime
from typing import NotRequired, TypedDict, Unpack

from openbrain.client.wire import Wire, filled, in_path
from openbrain.contract.admin.dead_letters import DeadLetterAnswer, DeadLetterList, DeadLettersChanged
from openbrain.contract.admin.streams import Buried, GroupPaused, GroupRegistered, Replayed, StreamList

ADMIN = "/v1/admin"
QUEUED = (200, 202)


class DeadWanted(TypedDict):
    """The filters of dead letters; a key left out narrows nothing."""

    stream: NotRequired[str]
    group: NotRequired[str]
    error: NotRequired[str]
    since: NotRequired[datetime]
    until: NotRequired[datetime]


class Streams:
    """Methods of the client for streams."""

    _wire: Wire

    async def streams(self, stream: str = "") -> StreamList:
        """The state of each stream, or one, and of its groups."""
        return await self._wire.ask(StreamList, "GET", f"{ADMIN}/streams", query={"stream": stream or None})

    async def metrics(self) -> str:
        """Metrics of the API replica that answers, in Prometheus's text format."""
        parts = [part async for part in self._wire.stream("/metrics", query={}, accept="text/plain")]
        return b"".join(parts).decode()

    async def replay(
        self,
        stream: str,
        *,
        begin: str = "",
        end: str = "",
        group: str = "",
        rate: int | None = None,
        dry_run: bool = False,
    ) -> Replayed:
        """Give a stream's services, or one, again what it keeps between two places: ids of entries, or times with
        their zone. `rate`: entries a second."""
        options = filled(**{"from": begin, "to": end, "group": group, "rate": rate})
        body = {"stream": stream, "dry_run": dry_run, **options}
        path = f"{ADMIN}/streams:replay"
        return await self._wire.ask(Replayed, "POST", path, body=body, repeat=dry_run, well=QUEUED)

    async def bury(self, stream: str, group: str, entry: str, reason: str) -> Buried:
        """Take one stuck entry out of a group's hands, to its dead letters."""
        body = {"stream": stream, "group": group, "entry": entry, "reason": reason}
        return await self._wire.ask(Buried, "POST", f"{ADMIN}/streams:bury", body=body, well=QUEUED)

    async def pause_group(self, group: str, *, reason: str = "") -> GroupPaused:
        """Let a service rest, with all its replicas; within seconds."""
        body = {"group": group, **filled(reason=reason)}
        return await self._wire.ask(GroupPaused, "POST", f"{ADMIN}/groups:pause", body=body)

    async def resume_group(self, group: str) -> GroupPaused:
        """Let it work again."""
        return await self._wire.ask(GroupPaused, "POST", f"{ADMIN}/groups:resume", body={"group": group})

    async def register_group(
        self, stream: str, group: str, *, reason: str = "", at_end: bool = False
    ) -> GroupRegistered:
        """A reader from outside: from now on its stream keeps what it has not read. `at_end`: a new group begins behind
        what there is."""
        body = {"stream": stream, "group": group, "at_end": at_end, **filled(reason=reason)}
        return await self._wire.ask(GroupRegistered, "POST", f"{ADMIN}/groups", body=body)

    async def unregister_group(self, stream: str, group: str, *, destroy: bool = False) -> GroupRegistered:
        """Wait for it no more. `destroy`: take the group off the server too."""
        query = {"stream": stream, "group": group, "destroy": "1" if destroy else None}
        return await self._wire.ask(GroupRegistered, "DELETE", f"{ADMIN}/groups", query=query)

    async def dead_letters(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[DeadWanted]
    ) -> DeadLetterList:
        """A page of dead letters, without what they hold."""
        query = {"limit": limit, "cursor": cursor, **wanted}
        return await self._wire.ask(DeadLetterList, "GET", f"{ADMIN}/dead", query=query)

    async def dead_letter(self, letter: str, *, body: bool = False) -> DeadLetterAnswer:
        """One; with `body` the entry itself, which may hold what somebody remembered."""
        path, query = f"{ADMIN}/dead/{in_path(letter)}", {"body": "1" if body else None}
        return await self._wire.ask(DeadLetterAnswer, "GET", path, query=query)

    async def replay_dead(
        self,
        letters: Sequence[str] = (),
        *,
        every: bool = False,
        rate: int | None = None,
        dry_run: bool = True,
        **wanted: Unpack[DeadWanted],
    ) -> DeadLettersChanged:
        """Give these, or those that a filter matches, or every one, again to the groups that they died in."""
        return await self._dead("replay", letters, every=every, dry_run=dry_run, **filled(rate=rate), **wanted)

    async def discard_dead(
        self,
        letters: Sequence[str] = (),
        *,
        every: bool = False,
        reason: str = "",
        dry_run: bool = True,
        **wanted: Unpack[DeadWanted],
    ) -> DeadLettersChanged:
        """Throw them away for good."""
        return await self._dead("discard", letters, every=every, dry_run=dry_run, **filled(reason=reason), **wanted)

    async def _dead(
        self, verb: str, letters: Sequence[str], *, every: bool, dry_run: bool, **more: object
    ) -> DeadLettersChanged:
        body = {"dry_run": dry_run, **more}
        body |= filled(letters=letters, all=every)
        path = f"{ADMIN}/dead:{verb}"
        return await self._wire.ask(DeadLettersChanged, "POST", path, body=body, repeat=dry_run, well=QUEUED)
