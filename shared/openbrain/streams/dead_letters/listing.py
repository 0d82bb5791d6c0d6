"""Dead letters: parse, list, count, revive and discard them."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from openbrain.domain.events.streams import dead_letters, every_stream, replays
from openbrain.ports.streams import DeadFilter, DeadLetter, Revival
from openbrain.settings import Streams
from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.entry_ids import LAST, behind, first_part
from openbrain.streams.redis.keys import DEAD_FIELDS, retry_states
from openbrain.streams.redis.scripts import REVIVE

PAGE = 200
LOOKED_AT = 5000
"""Dead letters read for one page of a list, at most."""
_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_HIGHEST = first_part(LAST)


@dataclass(frozen=True, slots=True)
class Box:
    """The dead letters of one stream and group."""

    stream: str
    """The stream's name without the prefix."""
    group: str
    prefix: str

    @property
    def key(self) -> str:
        """The stream that contains them."""
        return dead_letters(self.prefix + self.stream, self.group)

    @property
    def replay(self) -> str:
        """The stream by which they are replayed."""
        return replays(self.prefix + self.stream, self.group)

    @property
    def name(self) -> str:
        """First part of the letters' ids."""
        return f"{self.stream}.{self.group}"


def boxes(settings: Streams, wanted: DeadFilter = DeadFilter()) -> list[Box]:  # noqa: B008 - frozen
    """Return the boxes that can contain dead letters, limited to a stream and a group if wanted."""
    return [
        Box(stream, group, settings.prefix)
        for stream, spec in every_stream(settings.bound_workspaces).items()
        for group in spec.groups
        if wanted.stream in ("", stream) and wanted.group in ("", group)
    ]


def box_of(letter: str, among: Sequence[Box]) -> tuple[Box, str] | None:
    """Return the box and the id in it that a letter's id names; None if it is not such an id."""
    for box in among:
        entry = letter.removeprefix(f"{box.name}.")
        if entry != letter and _ID.fullmatch(entry) and all(int(part) <= _HIGHEST for part in entry.split("-")):
            return box, entry
    return None


async def pages(
    client: Redis, box: Box, wanted: DeadFilter, after: str | None = "-"
) -> AsyncIterator[tuple[list[DeadLetter], str]]:
    """Read all of a box, oldest first: yield the wanted letters of each page, and the id in the box of the last one
    read. `after`: as in XRANGE; None: read nothing. Raises redis-py's errors."""
    if after == "-" and wanted.since is not None:
        after = str(max(0, wanted.since))
    end = "+" if wanted.until is None else str(wanted.until - 1) if wanted.until > 0 else "0-0"
    while after and (entries := await ask(client, "XRANGE", box.key, after, end, "COUNT", PAGE)):
        letters = [letter(box, entry.decode(), fields) for entry, fields in entries]
        last = entries[-1][0].decode()
        yield [item for item in letters if wanted.error in ("", item.error)], last
        after = behind(last)


async def listed(
    client: Redis, among: Sequence[Box], wanted: DeadFilter, limit: int, after: str = ""
) -> tuple[list[DeadLetter], str | None]:
    """List dead letters like `ports.streams.StreamAdmin.dead`. Raises redis-py's errors."""
    start = box_of(after, among)
    letters: list[DeadLetter] = []
    seen = 0
    for box in among[among.index(start[0]) :] if start else among:
        begin = behind(start[1]) if start and box == start[0] else "-"
        async for page, last in pages(client, box, wanted, begin):
            letters += page
            seen += PAGE
            if len(letters) >= limit:
                return letters[:limit], letters[limit - 1].id
            if seen >= LOOKED_AT:
                return letters, f"{box.name}.{last}"
    return letters, None


async def one(client: Redis, box: Box, entry: str) -> DeadLetter | None:
    """Return the letter with this id in the box; None if there is none. Raises redis-py's errors."""
    entries = await ask(client, "XRANGE", box.key, entry, entry)
    return letter(box, entry, entries[0][1]) if entries else None


async def count(client: Redis, among: Sequence[Box], wanted: DeadFilter) -> int:
    """Return the exact number of wanted letters. Raises redis-py's errors."""
    total = 0
    for box in among:
        if not wanted.error and wanted.since is None and wanted.until is None:
            total += int(await client.xlen(box.key))
        else:
            async for page, _ in pages(client, box, wanted):
                total += len(page)
    return total


async def revive(client: Redis, box: Box, entries: Sequence[str]) -> list[Revival]:
    """Move each letter to the replay of its group, atomically. Raises redis-py's errors."""
    keys = (box.key, box.replay, retry_states(box.replay, box.group))
    kinds = {1: Revival.DELIVERED, 0: Revival.GONE, -1: Revival.NOT_WHOLE}
    return [kinds[done] for done in await REVIVE(client, keys, box.group, *entries)]


async def discard(client: Redis, box: Box, entries: Sequence[str]) -> int:
    """Remove letters permanently; return how many existed. Raises redis-py's errors."""
    return int(await ask(client, "XDEL", box.key, *entries)) if entries else 0


def letter(box: Box, entry: str, pairs: Mapping[bytes, bytes]) -> DeadLetter:
    """Parse an entry as a dead letter. No field is assumed to be present."""
    about = {name: pairs.get(name.encode(), b"").decode(errors="replace") for name in _ABOUT}
    return DeadLetter(
        id=f"{box.name}.{entry}",
        stream=box.stream,
        group=box.group,
        entry=about["entry"],
        error=about["error"],
        message=about["message"],
        attempts=_number(about["attempts"]),
        abandonments=_number(about["abandonments"]),
        first_at=_number(about["first_at"]),
        last_at=_number(about["last_at"]) or first_part(entry),
        bytes=sum(len(name) + len(value) for name, value in pairs.items()),
        fields={
            _own(name): value.decode(errors="backslashreplace")
            for name, value in pairs.items()
            if name not in DEAD_FIELDS
        },
    )


_ABOUT = ("entry", "error", "message", "attempts", "abandonments", "first_at", "last_at")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= len(str(_HIGHEST)) else 0


def _own(name: bytes) -> str:
    """Return the original name of a field of the entry."""
    bare = name.removeprefix(b"entry.")
    return (bare if bare in DEAD_FIELDS else name).decode(errors="backslashreplace")
