"""Connections to Redis or Valkey: by URL, with bounded waits and without implicit retries."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
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
from openbrain.domain.memory import MICROSECONDS
from openbrain.settings import Streams

R = TypeVar("R", bound=Redis)
_TLS = {"redis+sentinel": frozenset[str](), "rediss+sentinel": frozenset({"ssl_ca_certs"})}
"""Accepted parameters of a Sentinel URL."""

_FORMS = ("decode_responses", "encoding", "encoding_errors")
"""Parameters by which redis-py would answer in another form than the one read here."""

_CONNECTIONS = 2**31
"""Each blocking read uses its own connection: redis-py's limit of 100 would refuse reads of further streams."""

AWAY = (RedisError, OSError)
"""Errors of redis-py when the server is down, busy or unwilling."""


def connect(settings: Streams) -> Redis:
    """Return a client for `settings.url`, not yet connected: redis, rediss, unix, redis+sentinel or rediss+sentinel.

    Sentinel: redis+sentinel://[user:password@]host:port,host:port/service[/db]; the login is that of Redis. The login
    of the Sentinels is given as ?sentinel_username=…&sentinel_password=…; with TLS also ssl_ca_certs=….
    """
    return connect_as(Redis, settings)


def connect_as(kind: type[R], settings: Streams) -> R:
    """Return a client like `connect`, of another class."""
    options: dict[str, Any] = {
        "socket_timeout": silence_s(settings),
        "socket_connect_timeout": silence_s(settings),
        "retry": _no_retry(),
        "protocol": 2,
        "max_connections": _CONNECTIONS,
        "driver_info": _driver(),
    }
    scheme = urlsplit(settings.url).scheme
    if scheme in {"redis", "rediss", "unix"}:
        return _by_url(settings.url, kind, options)
    if scheme in {"redis+sentinel", "rediss+sentinel"}:
        return _by_sentinel(settings.url, kind, options)
    raise SetupError(
        "OPENBRAIN_STREAMS__URL must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://; "
        "`embedded` is for `openbrain up` only"
    )


def _by_url(url: str, kind: type[R], options: Mapping[str, Any]) -> R:
    given = {name for name, _ in parse_qsl(urlsplit(url).query)}
    if ours := sorted(given & {*options, *_FORMS}):  # redis-py would prefer them to ours
        raise SetupError(
            f"OPENBRAIN_STREAMS__URL must not set {', '.join(ours)}: OpenBrain sets that itself, remove it"
        )
    try:
        client = cast("R", kind.from_url(url, **options))
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)
    except ValueError:  # its message repeats a part of the URL
        raise SetupError("OPENBRAIN_STREAMS__URL can't be read: write it like redis://host:6379/0") from None
    except TypeError:
        named = ", ".join(sorted(given))
        raise SetupError(f"OPENBRAIN_STREAMS__URL has a parameter that does not exist, among {named}") from None
    return client


async def disconnect(client: Redis) -> None:
    """Close the client and its clients of the Sentinels."""
    await client.aclose()
    manager = getattr(client.connection_pool, "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else ():
        await sentinel.aclose()


class _Sentinels(Sentinel):
    """Sentinels that several connections ask at the same moment, as after a failover.

    redis-py moves the one that answered to the front by its former place: at once, two of these moves lose a Sentinel,
    which is then neither asked nor closed. So each discovery has a list of its own.
    """

    async def discover_master(self, service_name: str) -> Any:
        asked = copy(self)
        asked.sentinels = list(self.sentinels)
        found = await super(_Sentinels, asked).discover_master(service_name)
        self.sentinels = asked.sentinels
        return found


class Connecting:
    """Base with a Redis client: the one given, or its own, created on first use."""

    def __init__(self, settings: Streams, client: Redis | None = None) -> None:
        self._settings, self._own = settings, client is None
        self._made = client

    @property
    def _client(self) -> Redis:
        if self._made is None:
            self._made = connect(self._settings)
        return self._made

    async def close(self) -> None:
        """Close the client if it was created here."""
        if self._own and self._made is not None:
            await disconnect(self._made)


class Connected(Connecting):
    """Creates its client at once, so that an invalid URL is refused early."""

    def __init__(self, settings: Streams, client: Redis | None = None) -> None:
        super().__init__(settings, client)
        self._made = client or connect(settings)


@cache
def _driver() -> DriverInfo:
    """Return name and version of redis-py; cached, because redis-py reads them from its package's files for each
    connection."""
    return DriverInfo()


def _no_retry() -> Retry:
    return Retry(NoBackoff(), 0)


def silence_s(settings: Streams) -> float:
    """Return the response timeout: well over one blocking read, so that an outage differs from an empty stream."""
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
    sentinel = _Sentinels(  # type: ignore[no-untyped-call]
        places,
        # By default redis-py asks a Sentinel that does not answer eleven times before it asks the next one.
        sentinel_kwargs={"socket_timeout": 2, "socket_connect_timeout": 2, "retry": _no_retry(), **login, **tls},
        username=unquote(user) or None,
        password=unquote(password) or None,
        db=number,
        **options,
        **tls,
    )
    return cast("R", sentinel.master_for(service, redis_class=kind))


def without_login(url: str) -> str:
    """Return the URL without login and parameters, for display."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def words(error: Exception) -> str:
    """Return the message of an error, without the command arguments that it may quote."""
    return str(error).partition(", with args")[0][:200]


@contextmanager
def errors_as_try_later(why: str = "") -> Iterator[None]:
    """Raise errors of redis-py as `TryLater`; `why` says what that means."""
    try:
        yield
    except AWAY as error:
        text = f"Redis does not answer ({type(error).__name__})"
        raise TryLater(f"{text}: {why}" if why else text) from error


def is_gone(error: Exception) -> bool:
    """True if the stream or the group is missing: it was deleted, or the server lost its data."""
    return isinstance(error, ResponseError) and ("NOGROUP" in str(error) or "no such key" in str(error))


async def ask(client: Redis, *command: str | bytes | float) -> Any:
    """Send a command unchanged. Raises redis-py's errors."""
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        return await client.execute_command(*command)  # type: ignore[no-untyped-call]
    finally:
        # redis-py sometimes takes a cancellation for one of its own timeouts: the task would run forever.
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


async def server_time(client: Redis) -> int:
    """Return the server's clock, in microseconds since 1970. Raises redis-py's errors."""
    seconds, micros = await ask(client, "TIME")
    return int(seconds) * MICROSECONDS + int(micros)
