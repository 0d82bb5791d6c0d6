"""A tick in the whole pipeline: requested by the schedule, over HTTP and by a producer; what it reports and leaves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from openbrain.domain.events.data import TickCompleted, TickRequested
from openbrain.domain.events.envelope import FIELD, CloudEvent, decode, encode, event_type
from openbrain.domain.events.streams import TICK_COMPLETED, TICK_REQUESTED
from openbrain.settings import Settings, Streams, Vaults
from openbrain.settings.ticks import Tick
from openbrain.settings.tuning import StreamTuning
from tests.flow.conftest import started
from tests.support.vault.pages import Vault as Pages
from tests.support.vault.pages import page, signal
from tests.support.waiting import until


async def test_a_vault_keeps_itself(tmp_path: Path) -> None:
    # By the system's clock: what is some days old is not reported any more. The next slot of the schedule is half a
    # year away, so that no second one comes while this runs.
    now = datetime.now(UTC)
    new, far = now - timedelta(hours=1), now + timedelta(days=180)
    pages = Pages(tmp_path / "vault")
    body = "<!-- @lesson -->\nAsk first.\n<!-- @/lesson -->\n" + signal("bans rise")
    pages.write(f"clusters/{new:%Y-%m-%d}/a.md", page("a", body, created=new.isoformat(timespec="seconds")))
    settings = Settings(
        data_dir=tmp_path / "data",
        streams=Streams(tuning=StreamTuning(poll_s=0.5, reap_s=0.2)),
        vaults=Vaults(folders={"default": pages.root}),
        tick=Tick(schedule=f"7 3 1 {far.month} *"),
    )
    async with started(settings) as brain:

        async def told() -> list[TickCompleted]:
            raw = [fields[FIELD.encode()] for fields in await brain.entries(TICK_COMPLETED.name)]
            model = CloudEvent[TickCompleted]
            return [decode(model, each, event_type(TICK_COMPLETED.name)).data for each in raw]

        async def by_schedule() -> bool:
            return len(await told()) == 1

        await until(by_schedule)
        (first,) = await told()
        assert first.slot.startswith("cron:")
        assert "bans rise" in pages.body("signals.md")
        assert await brain.listed() != []

        event = TickRequested(workspace_id="default", slot="mine")
        for number in range(3):
            raw = encode(TICK_REQUESTED.name, event, event_id=f"e{number}", at=1)
            await brain.redis.xadd(TICK_REQUESTED.name, {FIELD: raw})
        before = pages.tree()

        async def by_event() -> bool:
            return len(await told()) > 1

        await until(by_event)
        await brain.settled()
        assert [each.slot for each in (await told())[1:]] == ["mine"]
        feed = {path for path, data in pages.tree().items() if before.get(path) != data}
        assert feed <= {"brain-feed/health.jsonl"}
