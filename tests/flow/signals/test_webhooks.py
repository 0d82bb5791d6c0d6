"""A webhook is sent a signal by amygdala's periodic jobs, on a separate database; if switched off, nothing is sent."""

from pathlib import Path

import orjson
import pytest

from openbrain.adapters.sql.schema.commands import upgrade
from openbrain.adapters.sql.store import store_url
from openbrain.domain.signals.values import Raise, Severity
from openbrain.domain.signals.webhook_rules import new_secret
from openbrain.ports.store.tenants import Workspace
from openbrain.ports.store.webhooks import Webhook
from openbrain.runtime.container import Container
from openbrain.settings import Settings
from openbrain.settings.webhooks import Webhooks
from openbrain_amygdala.app import periodic_jobs
from tests.support.signals.hook_receiver import receiver
from tests.support.waiting import until

HOSTS = ("localhost",)


@pytest.mark.parametrize("enabled", [True, False])
async def test_what_is_raised_is_posted_where_webhooks_are_on(tmp_path: Path, *, enabled: bool) -> None:
    settings = Settings(data_dir=tmp_path, webhooks=Webhooks(enabled=enabled, hosts=HOSTS, private_hosts=HOSTS))
    upgrade(store_url(settings.truth.url, tmp_path))
    with receiver() as hook:
        async with Container(settings, shared=True) as container:
            store, now = container.store, container.clock.now()
            await store.workspaces.create_workspace(Workspace(id="w1", name="w1", created_at=now))
            address = f"http://localhost:{hook.port}/in"
            mine = Webhook(
                id="h-1", workspace_id="w1", url=address, secret=new_secret(), created_by="ada", created_at=now
            )
            await store.webhooks.add_webhook(mine, 5)
            service = periodic_jobs(container)
            await service.start()
            await store.signals.raise_signals(
                [
                    Raise(
                        workspace_id="w1",
                        source="s",
                        severity=Severity.CRITICAL,
                        title="t",
                        content="",
                        actor="a",
                        at=now,
                    )
                ]
            )

            async def came() -> bool:
                found = await store.webhooks.webhook("w1", "h-1")
                return bool(found and found.cursor) if enabled else service.leading

            await until(came)
            await service.stop()
        assert [orjson.loads(post.body)["data"]["title"] for post in hook.posts] == (["t"] if enabled else [])
