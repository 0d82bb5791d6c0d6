"""Connections to Redis or Valkey: by URL, every wait bounded, nothing retried behind our back."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo
from redis.exceptions import RedisError, ResponseError

from openbrain.domain.errors import SetupError, TryLater
from openbrain.settings import Streams

R = TypeVar("R", bound=Redis)
_TLS = {"redis+sentinel": frozenset[str](), "rediss+sentinel": frozenset({"ssl_ca_certs"})}
"""Parameters of a URL."""

AWAY = (RedisError, OSError)
"""Errors of redis-py when the server is down, busy or unwilling."""


def connect(settings: Streams) -> Redis:
    """A client of `settings.url` (nothing is connected yet): redis, rediss, unix, or redis and rediss with +sentinel.

    Sentinel: redis+sentinel://[user:password@]host:port,host:port/service[/db]; the login is Redis's own. That of the
    Sentinels follows as ?sentinel_username=…&sentinel_password=…, and with TLS ssl_ca_certs=….
    """
    return connect_as(Redis, settings)


def connect_as(kind: type[R], settings: Streams) -> R:
    """`connect` with a client class of one's own."""
    options: dict[str, Any] = {
        "socket_timeout": silence_s(settings),
        "socket_connect_timeout": silence_s(settings),
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": _driver(),
    }
    scheme = urlsplit(settings.url).scheme
    if scheme in {"redis", "rediss", "unix"}:
        try:
            return cast("R", kind.from_url(settings.url, **options))
        except ValueError:  # its words repeat a part of the URL
            raise SetupError("OPENBRAIN_STREAMS__URL can't be read: write it like redis://host:6379/0") from None
    if scheme in {"redis+sentinel", "rediss+sentinel"}:
        return _by_sentinel(settings.url, kind, options)
    raise SetupError(
        "OPENBRAIN_STREAMS__URL must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://; "
        "`embedded` is for `openbrain up` alone"
    )


async def disconnect(client: Redis) -> None:
    """Close the client, and what asks the Sentinels for it."""
    await client.aclose()
    manager = getattr(client.connection_pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else ():
        await sentinel.aclose()


class Connecting:
    """Has a client of its own, made when it is first asked, or the one that it is given."""

    def __init__(self, settings: Streams, client: Redis | None = None) -> None:
        self._settings, self._own = settings, client is None
        self._made = client

    @property
    def _client(self) -> Redis:
        if self._made is None:
            self._made = connect(self._settings)
        return self._made

    async def close(self) -> None:
        """Close what was opened here."""
        if self._own and self._made is not None:
            await disconnect(self._made)


class Connected(Connecting):
    """Has its client from the beginning: a URL that can't work is refused when this is made."""

    def __init__(self, settings: Streams, client: Redis | None = None) -> None:
        super().__init__(settings, client)
        self._made = client or connect(settings)


@cache
def _driver() -> DriverInfo:
    """Name and version of redis-py, cached: redis-py reads them from its package's files for each connection."""
    return DriverInfo()


def silence_s(settings: Streams) -> float:
    """The timeout of an answer: well over one blocking read, so that silence differs from an empty stream."""
    return max(settings.tuning.poll_s * 2.5, settings.tuning.poll_s + 2)


def _by_sentinel(url: str, kind: type[R], options: Mapping[str, Any]) -> R:
    parts = urlsplit(url)
    own, _, hosts = parts.netloc.rpartition("@")
    user, _, password = own.partition(":")
    service, _, db = parts.path.strip("/").partition("/")
    try:
        places = [(host, int(port or 26379)) for host, _, port in (part.partition(":") for part in hosts.split(","))]
        number = int(db or 0)
    except ValueError:
        places, number = [], 0
    query = dict(parse_qsl(parts.query))
    login = {name: query.pop(f"sentinel_{name}") for name in ("username", "password") if f"sentinel_{name}" in query}
    tls = {"ssl": True} | query if parts.scheme == "rediss+sentinel" else {}
    if not service or not all(host for host, _ in places) or not places or query.keys() - _TLS[parts.scheme]:
        raise SetupError("OPENBRAIN_STREAMS__URL must read redis+sentinel://host:port,host:port/service[/db]")
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        places,
        sentinel_kwargs={"socket_timeout": 2, "socket_connect_timeout": 2, **login, **tls},
        username=unquote(user) or None,
        password=unquote(password) or None,
        db=number,
        **options,
        **tls,
    )
    return cast("R", sentinel.master_for(service, redis_class=kind))


def without_login(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def words(error: Exception) -> str:
    """The message of the server or redis-py, without the arguments that it may quote."""
    return str(error).partition(", with args")[0][:200]


@contextmanager
def errors_as_try_later(why: str = "") -> Iterator[None]:
    """Raise errors of redis-py as `TryLater`, with what follows from them."""
    try:
        yield
    except AWAY as error:
        text = f"Redis does not answer ({type(error).__name__})"
        raise TryLater(f"{text}: {why}" if why else text) from error


def is_gone(error: Exception) -> bool:
    """Whether the stream or the group is missing: it was deleted, or the server lost its data."""
    return isinstance(error, ResponseError) and ("NOGROUP" in str(error) or "no such key" in str(error))


async def ask(client: Redis, *command: str | bytes | float) -> Any:
    """Send a command as it is. Raises what redis-py raises."""
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        return await client.execute_command(*command)  # type: ignore[no-untyped-call]
    finally:
        # redis-py now and then takes a cancellation for the end of a wait of its own: the task would go on for ever.
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
