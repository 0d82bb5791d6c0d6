"""FastStream's Redis broker with our client and our loops."""

from collections.abc import Callable
from itertools import chain
from types import TracebackType
from typing import Any, Self, cast

from faststream.middlewares import AckPolicy
from faststream.redis import RedisBroker, StreamSub
from faststream.redis.configs import RedisConnectionState
from faststream.redis.message import FAKE_CONSUMER, BatchStreamMessage, RedisBatchStreamMessage
from faststream.redis.prometheus import RedisPrometheusMiddleware

from openbrain.domain.errors import SetupError
from openbrain.domain.events.envelope import CloudEvent
from openbrain.observability import metrics
from openbrain.settings import Streams
from openbrain.streams.group.delivery import Entry
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.runtime import Closing
from openbrain.streams.reading.reader import ReadingRedis
from openbrain.streams.reading.session import Session
from openbrain.streams.redis.connection import without_login

REPLICA = "replica"
"""The consumer's name in the AsyncAPI document; each process uses its own."""


class _Stream(StreamSub):
    """FastStream copies the declaration twice per batch to add a prefix: skipped if there is none."""

    __slots__ = ()

    def add_prefix(self, prefix: str) -> Self:
        return super().add_prefix(prefix) if prefix else self


class _Raw:
    """A batch as received; its length is its size in bytes."""

    __slots__ = ("message",)

    def __init__(self, message: BatchStreamMessage) -> None:
        self.message = message

    def __len__(self) -> int:
        return sum(map(len, chain.from_iterable(self.message["data"])))


async def _parse(message: BatchStreamMessage) -> RedisBatchStreamMessage:
    """Pass the batch on unparsed: a bad entry must not affect its neighbours."""
    first = message["message_ids"][0].decode()
    return RedisBatchStreamMessage(
        message, _Raw(message), consumer=FAKE_CONSUMER, group=None, correlation_id=first, message_id=first
    )


async def _entries(message: RedisBatchStreamMessage) -> list[Entry]:
    raw = message.raw_message
    return [Entry(entry.decode(), fields) for entry, fields in zip(raw["message_ids"], raw["data"], strict=True)]  # type: ignore[arg-type]


class _Connection(RedisConnectionState):
    """Gives FastStream the session's client; the session closes it."""

    __slots__ = ("session",)

    def __init__(self) -> None:
        super().__init__()
        self.session: Session | None = None

    async def connect(self) -> ReadingRedis:
        if self.session is None:
            raise SetupError("start the service, not its broker's connection")
        self._client = self.session.client
        self._connected = True
        return self.session.client

    async def disconnect(self) -> None:
        self._client = None
        self._connected = False


class ServiceBroker(RedisBroker):
    """Starts and stops the session's loops together with FastStream's."""

    def __init__(self, group: str, settings: Streams, new_session: Callable[[], Session]) -> None:
        self._session_connection = _Connection()
        self._group, self._settings, self._new_session = group, settings, new_session
        super().__init__(
            "redis://localhost",  # unused: the client comes from the session
            specification_url=without_login(settings.url),
            apply_types=False,
            logger=cast("Any", None),
            graceful_timeout=settings.tuning.shutdown_s,
            middlewares=(RedisPrometheusMiddleware(registry=metrics.REGISTRY, app_name=group),),
        )

    def _make_connection_state(self, *_: Any) -> _Connection:
        return self._session_connection

    def declare(self, stream: str, subscription: Subscription) -> None:
        """Let FastStream read this stream and pass each batch to the session."""
        group, settings = self._group, self._settings

        async def handle(event: Any) -> None:
            if (session := self._session_connection.session) is not None:
                await session.take(stream, event)

        # FastStream builds the AsyncAPI document from these.
        handle.__annotations__ = {"event": CloudEvent[subscription.spec.data], "return": None}  # type: ignore[name-defined]
        handle.__name__ = f"{group}_{stream}".replace(".", "_").replace("-", "_")
        subscriber = self.subscriber(
            stream=_Stream(
                stream,
                group=group,
                consumer=REPLICA,
                batch=True,
                max_records=settings.batch,
                polling_interval=round(settings.tuning.poll_s * 1000),
            ),
            ack_policy=AckPolicy.MANUAL,
            parser=_parse,
            decoder=_entries,
            title=stream,
            description=subscription.spec.about,
        )
        subscriber(handle)

    async def start(self) -> None:
        """Wait for Redis, then read."""
        self._session_connection.session = session = self._new_session()
        try:
            await session.begin()
        except Closing:
            return
        await super().start()

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Stop reading, let the running handler end, give back pending entries."""
        session, self._session_connection.session = self._session_connection.session, None
        if session is not None:
            await session.close()
        await super().stop(exc_type, exc_val, exc_tb)
        if session is not None:
            await session.finish()

    def dead_tasks(self) -> list[str]:
        """Return FastStream's reading tasks that ended unexpectedly."""
        return [
            f"faststream reading {self._group}"
            for subscriber in self.subscribers
            for task in getattr(subscriber, "tasks", ())
            if task.done()
        ]
