"""Creates a subscriber from a URL, a key and optionally the address of Redis."""

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
"""Seconds without even a heartbeat after which a stream counts as broken."""
_REDIS = "openbrain.adapters.redis.broadcasts"
"""Part of the full package: the client package has no Redis driver."""


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
    """Receive the signals of the key's workspace: `async with subscribe(...) as ear`.

    `url`, `key`, `agent`, `allow_http`: as for `openbrain.client.OpenBrain`. Each agent needs a unique name, or one
    acknowledges for all. `redis_url` and `workspace` (and `prefix`, if the server is shared): receive by Redis; what is
    missing there is requested from the API. `cursor`: a file used by this agent only; without it each start begins with
    the present state. `on_message`: called with the messages and subscription matches in the agent's inbox.
    `message_cursor`: a file for their position; without it only new ones are received. `org`, `project`: where the
    agent works; halts of others are ignored. `Subscriber` describes the other arguments.
    """
    if redis_url and not workspace:
        raise SetupError("which workspace's stream? Give `workspace` together with `redis_url`")
    signals_seen, messages_seen = _kept(cursor), _kept(message_cursor)
    if (
        isinstance(signals_seen, FileCursor)
        and isinstance(messages_seen, FileCursor)
        and signals_seen.path.resolve() == messages_seen.path.resolve()
    ):
        raise SetupError(f"`cursor` and `message_cursor` are both {signals_seen.path}: give each its own file")
    brain = OpenBrain(url, key, agent=agent, timeout_s=SILENCE_S, attempts=1, breaker_failures=0, allow_http=allow_http)
    stream = _by_redis(redis_url, prefix, workspace) if redis_url else None
    api = HttpApi(brain, via="redis" if stream else "sse", org=org, project=project)
    return Subscriber(
        api,
        handler,
        inbox=None if on_message is None else Inbox(api, on_message, messages_seen),
        stream=stream,
        cursor=signals_seen,
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
        raise SetupError(
            "receiving by Redis needs `pip install openbrain-memory`: install it, or leave out `redis_url`"
        ) from None
    stream: Stream = adapter.broadcast_stream(url, prefix, workspace)
    return stream
