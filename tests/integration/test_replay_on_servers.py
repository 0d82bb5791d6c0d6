"""A replay continues after the housekeeper that fed it was killed: every entry comes again, and none for ever."""

from collections import Counter

import pytest

from openbrain.domain.events.streams import STORED
from openbrain.domain.ids import uuid7
from openbrain.ports.store.operations import Operation, OperationStatus
from openbrain.ports.streams import REPLAY
from openbrain.settings import Streams
from openbrain.settings.tuning import StreamTuning
from openbrain.streams.dead_letters.replay import drop_settled
from tests.integration.conftest import Servers
from tests.support.cli.services import Services
from tests.support.streams.consumers import Seen, service, stored
from tests.support.streams.consumers import started as reading
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(300)
GROUP, COUNT = "embedder", 600


async def _published(servers: Servers) -> str:
    stream = servers.prefix + STORED.name
    for number in range(COUNT):
        await servers.redis.xadd(stream, {"__data__": stored(number)})
    return stream


async def _asked(servers: Servers) -> Operation:
    # At this rate a step is short, so the kill comes between two of many.
    request = {"stream": STORED.name, "groups": [GROUP], "from": "-", "to": "+", "rate": 100}
    asked = Operation(id=uuid7(1), workspace_id="default", kind=REPLAY, actor="test", request=request, total=COUNT)
    return await servers.store.operations.start_operation(asked)


@pytest.mark.slow("a lease must run out after a kill")
async def test_a_replay_outlives_the_housekeeper_that_is_killed(servers: Servers, started: Services) -> None:
    stream = await _published(servers)
    settings = Streams(
        url=servers.environment["OPENBRAIN_STREAMS__URL"], prefix=servers.prefix, tuning=StreamTuning(poll_s=0.2)
    )
    seen, keepers = Seen(), [started.start("housekeeper") for _ in range(2)]
    await started.all_ready()
    async with reading(service(settings, seen, GROUP)):
        await until(lambda: _given(seen, 1))
        asked = await _asked(servers)

        async def now() -> Operation:
            found = await servers.store.operations.operation("default", asked.id)
            assert found is not None
            assert found.status not in {OperationStatus.FAILED, OperationStatus.CANCELLED}, found
            return found

        async def in_the_middle() -> bool:
            return 0 < (await now()).done < COUNT

        await until(in_the_middle, pause=0.05)
        (await servers.leader(keepers)).kill()
        assert await in_the_middle(), "otherwise this test proves nothing"
        before = await now()

        async def done() -> bool:
            return (await now()).status is OperationStatus.DONE

        await until(done, pause=0.2)
        after = await now()

    assert after.done >= COUNT > before.done, "it continued from where it was"
    assert min(seen.all.count(number) for number in range(COUNT)) >= 2, "each came again"
    extra = sum(count - 2 for count in Counter(seen.all).values())
    assert extra <= COUNT // 2, "only what the killed one had not recorded came once more"
    # The step that copied the last entries may report waiting ones as done; the housekeeper's sweep does the rest.
    assert await drop_settled(servers.redis, stream, GROUP) == 0, "nothing is left of it"


async def _given(seen: Seen, times: int) -> bool:
    return len(seen.all) == times * COUNT
