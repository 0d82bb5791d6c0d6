"""A subscriber from what a person knows: an address, a key, where Redis is."""

from importlib import import_module
from pathlib import Path

from openbrain.client import OpenBrain
from openbrain.client.subscriber.api import Stream
from openbrain.client.subscriber.cursors import Cursor, FileCursor, MemoryCursor
from openbrain.client.subscriber.http_api import HttpApi
from openbrain.client.subscriber.inbox import Inbox, MessageHandler
from openbrain.client.subscriber.subscriber import Handler, Subscriber
from openbrain.domain.errors import SetupError

SILENCE_S = 30.0
"""After which a stream without even a heartbeat counts as broken."""
_REDIS = "openbrain.adapters.redis.broadcasts"
"""Part of the whole package: the client alone has no driver of Redis."""


def subscribe(
    handler: Handler,
    *,
    url: str,
    key: str = "",
    agent: str = "",
    redis_url: str = "",
    workspace: str = "",
    prefix: str = "",
    cursor: Path | str | None = None,
    on_message: MessageHandler | None = None,
    message_cursor: Path | str | None = None,
    org: str = "",
    project: str = "",
    halted_when_cut_off_s: float | None = None,
    beat_s: float = 30.0,
    allow_http: bool = False,
) -> Subscriber:
    """Hear the signals of the key's workspace: `async with subscribe(...) as ear`.

    `url`, `key`, `agent`, `allow_http`: as of `openbrain.client.OpenBrain`; each agent needs a name of its own, or one
    acknowledges for all. `redis_url` and `workspace` (and `prefix`, where the server is shared): hear by Redis; the API
    is asked for what is missing there. `cursor`: a file of this agent alone; without one it begins anew with every
    start. `on_message`: is given what comes to the agent's inbox too, messages and what its subscriptions found;
    `message_cursor`: a file for those, without which it begins with what comes. `org`, `project`: where it works; halts
    of others are none of its own. The rest is told at `Subscriber`.
    """
    if redis_url and not workspace:
        raise SetupError("which workspace's stream? Give `workspace` beside `redis_url`")
    brain = OpenBrain(url, key, agent=agent, timeout_s=SILENCE_S, attempts=1, breaker_failures=0, allow_http=allow_http)
    stream = _by_redis(redis_url, prefix, workspace) if redis_url else None
    api = HttpApi(brain, via="redis" if stream else "sse", org=org, project=project)
    return Subscriber(
        api,
        handler,
        inbox=None if on_message is None else Inbox(api, on_message, _kept(message_cursor)),
        stream=stream,
        cursor=_kept(cursor),
        org=org,
        project=project,
        halted_when_cut_off_s=halted_when_cut_off_s,
        beat_s=beat_s,
    )


def _kept(cursor: Path | str | None) -> Cursor:
    return MemoryCursor() if cursor is None else FileCursor(Path(cursor).expanduser())


def _by_redis(url: str, prefix: str, workspace: str) -> Stream:
    try:
        adapter = import_module(_REDIS)
    except ModuleNotFoundError:
        raise SetupError("hearing by Redis needs `pip install openbrain-memory`: leave out `redis_url`") from None
    stream: Stream = adapter.broadcast_stream(url, prefix, workspace)
    return stream
