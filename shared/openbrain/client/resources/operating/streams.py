"""Client methods for streams, consumer groups and dead letters. All need an admin key of the workspace `system`."""

from collections.abc import Sequence
from datetime import datetime
from typing import NotRequired, TypedDict, Unpack

from openbrain.client.wire import Wire, filled, in_path
from openbrain.contract.admin.dead_letters import DeadLetterAnswer, DeadLetterList, DeadLettersChanged
from openbrain.contract.admin.streams import Buried, GroupPaused, GroupRegistered, Replayed, StreamList

ADMIN = "/v1/admin"
QUEUED = (200, 202)


class DeadWanted(TypedDict):
    """The filters of dead letters. A key left out does not filter."""

    stream: NotRequired[str]
    group: NotRequired[str]
    error: NotRequired[str]
    since: NotRequired[datetime]
    until: NotRequired[datetime]


class Streams:
    """Client methods for streams."""

    _wire: Wire

    async def streams(self, stream: str = "") -> StreamList:
        """Return the state of one stream, or of all, and of the consumer groups."""
        return await self._wire.ask(StreamList, "GET", f"{ADMIN}/streams", query={"stream": stream or None})

    async def metrics(self) -> str:
        """Return the metrics of the API replica that answers, in Prometheus's text format."""
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
        """Replay a stream's entries between two places to its services, or to one. A place is an entry's id or a time
        with its zone. `rate`: entries per second."""
        options = filled(**{"from": begin, "to": end, "group": group, "rate": rate})
        body = {"stream": stream, "dry_run": dry_run, **options}
        path = f"{ADMIN}/streams:replay"
        return await self._wire.ask(Replayed, "POST", path, body=body, repeat=dry_run, well=QUEUED)

    async def bury(self, stream: str, group: str, entry: str, reason: str) -> Buried:
        """Move a stuck entry of a group to its dead letters."""
        body = {"stream": stream, "group": group, "entry": entry, "reason": reason}
        return await self._wire.ask(Buried, "POST", f"{ADMIN}/streams:bury", body=body, well=QUEUED)

    async def pause_group(self, group: str, *, reason: str = "") -> GroupPaused:
        """Pause a service and all its replicas, within seconds."""
        body = {"group": group, **filled(reason=reason)}
        return await self._wire.ask(GroupPaused, "POST", f"{ADMIN}/groups:pause", body=body)

    async def resume_group(self, group: str) -> GroupPaused:
        """Resume a paused service."""
        return await self._wire.ask(GroupPaused, "POST", f"{ADMIN}/groups:resume", body={"group": group})

    async def register_group(
        self, stream: str, group: str, *, reason: str = "", at_end: bool = False
    ) -> GroupRegistered:
        """Register an external reader: from now on the stream keeps entries that it has not read. `at_end`: a new group
        begins after the present entries."""
        body = {"stream": stream, "group": group, "at_end": at_end, **filled(reason=reason)}
        return await self._wire.ask(GroupRegistered, "POST", f"{ADMIN}/groups", body=body)

    async def unregister_group(self, stream: str, group: str, *, destroy: bool = False) -> GroupRegistered:
        """Unregister an external reader: its unread entries are no longer kept. `destroy`: also remove the group from
        the server."""
        query = {"stream": stream, "group": group, "destroy": "1" if destroy else None}
        gone = GroupRegistered(stream=stream, group=group, registered=False)
        return await self._wire.ask(GroupRegistered, "DELETE", f"{ADMIN}/groups", query=query, gone=gone)

    async def dead_letters(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[DeadWanted]
    ) -> DeadLetterList:
        """Return a page of dead letters, without their entries."""
        query = {"limit": limit, "cursor": cursor, **wanted}
        return await self._wire.ask(DeadLetterList, "GET", f"{ADMIN}/dead", query=query)

    async def dead_letter(self, letter: str, *, body: bool = False) -> DeadLetterAnswer:
        """Return one dead letter; with `body` also the entry itself, which may contain the text of a memory."""
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
        """Replay dead letters to their groups: those named, those that match the filters, or all."""
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
        """Discard dead letters permanently."""
        return await self._dead("discard", letters, every=every, dry_run=dry_run, **filled(reason=reason), **wanted)

    async def _dead(
        self, verb: str, letters: Sequence[str], *, every: bool, dry_run: bool, **more: object
    ) -> DeadLettersChanged:
        body = {"dry_run": dry_run, **more}
        body |= filled(letters=letters, all=every)
        path = f"{ADMIN}/dead:{verb}"
        return await self._wire.ask(DeadLettersChanged, "POST", path, body=body, repeat=dry_run, well=QUEUED)
