"""Readers of one side of the benchmark `signals`, many in one process: reports when each received each signal.

Reads its task from the command line, prints `ready`, then one JSON list per signal; ends when its input is closed.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from typing import Any

import uvloop
from redis.asyncio import Redis

from openbrain.adapters.redis.broadcasts import BroadcastStream
from openbrain.client import OpenBrain
from openbrain.client.subscriber import Subscriber
from openbrain.client.subscriber.http_api import HttpApi
from openbrain.domain.events.data import Broadcast
from openbrain.observability import logs
from openbrain.settings import Logs, Streams
from openbrain.settings.tuning import StreamTuning

AT_ONCE = 25
BEAT_S = 300.0


class Heard:
    """Reports a signal once every reader of this process has received it."""

    def __init__(self, readers: int) -> None:
        self._readers = readers
        self.begun = False
        """True once counting has begun: readers also receive signals that were open before."""
        self._at: defaultdict[str, list[float]] = defaultdict(list)

    def note(self, signal: str) -> None:
        """Note that one more reader received it."""
        if not self.begun:
            return
        at = self._at[signal]
        at.append(time.monotonic())
        if len(at) == self._readers:
            say(json.dumps(self._at.pop(signal)))


async def main(task: dict[str, Any]) -> None:
    """Run until the input is closed."""
    logs.configure(Logs(level="ERROR"))
    heard = Heard(task["count"])
    reading: list[Any] = []
    if task["side"] == "bare":
        streams = [Redis(unix_socket_path=task["socket"]) for _ in range(task["count"])]
        await asyncio.gather(*(stream.ping() for stream in streams))
        reading = [asyncio.create_task(_read(stream, task["stream"], heard)) for stream in streams]
    else:
        subscribers = [_subscriber(task, number, heard) for number in range(task["count"])]
        for start in range(0, len(subscribers), AT_ONCE):
            await asyncio.gather(*(each.__aenter__() for each in subscribers[start : start + AT_ONCE]))
        await asyncio.sleep(1)  # time for the last streams to open
    heard.begun = True
    say("ready")
    await asyncio.to_thread(sys.stdin.read)
    for each in reading:
        each.cancel()


async def _read(redis: "Redis", stream: str, heard: Heard) -> None:
    client: Any = redis
    last: bytes | str = "0"
    while True:
        for _, entries in await client.xread({stream: last}, block=1000):
            for entry, _ in entries:
                last = entry
                heard.note(entry.decode())


def _subscriber(task: dict[str, Any], number: int, heard: Heard) -> Subscriber:
    async def told(signal: Broadcast) -> None:
        if signal.halt:
            heard.note(signal.signal_id)

    agent = f"bench-{task['side']}-{task['first'] + number}"
    brain = OpenBrain(task["url"], task["key"], agent=agent, attempts=1, breaker_failures=0)
    by_redis = task["side"] == "redis"
    settings = Streams(url=f"unix://{task['socket']}", tuning=StreamTuning(poll_s=1))
    stream = BroadcastStream(settings, task["workspace"]) if by_redis else None
    return Subscriber(HttpApi(brain, via=task["side"]), told, stream=stream, beat_s=BEAT_S)


def say(words: str) -> None:
    """Print a line to the parent process."""
    print(words, flush=True)


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[1])))
