"""A service needs no more rights on Redis than the documentation says."""

import uuid
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from openbrain.observability import metrics
from openbrain.streams.group.delivery import Delivery
from tests.support.streams.consumers import Seen, eventually, looking, publish, scaled, service, started, stored

COMMANDS = (
    "xreadgroup xgroup xpending xclaim xack xadd xinfo xlen xrange hget hset hdel del exists time ping eval evalsha"
).split()


async def test_a_room_with_its_own_keys_and_commands_only(url: str) -> None:
    async def fail_on_1(batch: Sequence[Delivery[Any]]) -> None:
        if any(delivery.event.id == "1" for delivery in batch):
            raise LookupError

    user, free = f"room-{uuid.uuid4().hex}", scaled(url, backoff_s=(0.05,))
    confined = free.model_copy(update={"url": url.replace("://", f"://{user}:secret@")})
    admin: Any = Redis.from_url(url)
    rights = (f"~{free.prefix}*", *(f"+{command}" for command in COMMANDS))
    await admin.execute_command("ACL", "SETUSER", user, "reset", "on", ">secret", *rights)
    try:
        await publish(confined, stored(1), stored(2), b"not an event")
        reading = service(confined, Seen(fail_on_1))
        async with looking(free) as looks, started(reading):
            await eventually(looks.idle)
            assert sorted(letter["error"] for letter in await looks.dead()) == ["Invalid", "LookupError"]
            assert await reading.unready() == {}
            await reading.measure()
            labels = {"stream": looks.stream, "group": "embedder"}
            assert metrics.REGISTRY.get_sample_value("openbrain_stream_dead_letters", labels) == 2
        refused = {line["object"] for line in await admin.acl_log() if line["username"] == user}
        assert refused <= {"client|setinfo"}, "the driver introduces itself, and works without that"
    finally:
        await admin.execute_command("ACL", "DELUSER", user)
        await admin.aclose()
