"""The Lua scripts: atomic checks and changes, so that two consumers never both act on an entry."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from openbrain.streams.redis.connection import ask
from openbrain.streams.redis.entry_ids import behind

_FOLDER = files(__package__) / "lua"
_COMMON = (_FOLDER / "owned.lua").read_text()


class Script:
    """A script of the folder `lua`, sent once per server and called by its hash."""

    def __init__(self, name: str, common: str = _COMMON) -> None:
        self.source = common + (_FOLDER / f"{name}.lua").read_text()
        self.sha = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    async def __call__(self, client: Redis, keys: Sequence[str], *args: str | bytes | int) -> Any:
        """Run it. Raises redis-py's errors."""
        try:
            return await ask(client, "EVALSHA", self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await ask(client, "EVAL", self.source, len(keys), *keys, *args)


JOIN = Script("join")
TAKE = Script("take")
ACK = Script("ack")
PARK = Script("park")
BURY = Script("bury")
RENEW = Script("renew")
GIVE_BACK = Script("give_back")
RELEASE = Script("release")
TIDY = Script("tidy")
PUBLISH = Script("publish", common="")
RATE = Script("rate", common="")
_LEFT = (_FOLDER / "left.lua").read_text()
NARROW = (_FOLDER / "narrow.lua").read_text()
REPLAY = Script("replay", _LEFT + NARROW)
DROP_REPLAY = Script("drop_replay", _LEFT)
REVIVE = Script("revive", _LEFT)
BURY_STUCK = Script("bury_stuck", common="")
_COUNT = Script("count", common="")
_COUNTED = 2000
"""Entries counted in one call, which blocks the server for about a millisecond."""


async def counted(client: Redis, stream: str, start: str | None, end: str) -> int:
    """Return the number of entries between two ids, counted on the server; 0 if the start is None. Raises redis-py's
    errors."""
    total: int = 0
    while start:
        count, last = await _COUNT(client, (stream,), start, end, _COUNTED)
        total += int(count)
        start = behind(last.decode()) if count == _COUNTED else None
    return total
