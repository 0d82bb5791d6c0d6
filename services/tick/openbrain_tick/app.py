"""tick as a process: `faststream run openbrain_tick.app:app`, or a service of `openbrain up`."""

import hashlib
from collections.abc import Sequence
from typing import Any

from openbrain.domain.errors import NotFound
from openbrain.domain.events import TickRequested
from openbrain.domain.memory import MICROSECONDS
from openbrain.domain.streams import TICK_REQUESTED
from openbrain.ports.vault import TickJob
from openbrain.runtime.consumers import consumer_service, lazy_app
from openbrain.runtime.container import Container
from openbrain.streams.group.delivery import Delivery
from openbrain.streams.group.subscription import Subscription
from openbrain.streams.handling.runtime import consumer_name
from openbrain.streams.reading.service import Service
from openbrain.vault.folder import Folder
from openbrain.vault.pages.index import Index
from openbrain_tick.handlers.tick_requested import HOLD_S, handle_all
from openbrain_tick.ticking import Ports, tick
from openbrain_tick.writing import Vault


class Vaults:
    """The vaults of the settings, opened when first asked for and known from then on."""

    def __init__(self, container: Container) -> None:
        self._settings = container.settings
        self._open: dict[str, Vault] = {}

    def of(self, workspace_id: str) -> Vault:
        """`NotFound` where the workspace has none."""
        if workspace_id not in self._open:
            self._open[workspace_id] = self._opened(workspace_id)
        return self._open[workspace_id]

    def _opened(self, workspace_id: str) -> Vault:
        settings = self._settings.vaults
        root = settings.folders.get(workspace_id)
        if root is None:
            raise NotFound("this workspace has no vault: OPENBRAIN_VAULTS__FOLDERS gives it one")
        name = hashlib.sha256(f"{workspace_id}\0{root}".encode()).hexdigest()[:16]
        return Vault(
            workspace_id=workspace_id,
            folder=Folder(root, max_bytes=settings.tuning.file_kb * 1024),
            index=Index(self._settings.data_dir / "vaults" / f"{name}.index"),
            thresholds=self._settings.tick.vault_thresholds(),
            wait_s=30,
        )


def service(container: Container) -> Service:
    """Requests for ticks, from the schedule, the API and producers."""
    vaults, settings = Vaults(container), container.settings
    hold_s = min(HOLD_S, settings.streams.lease_s * 0.75)

    def ports() -> Ports:
        return Ports(
            store=container.store,
            clock=container.clock,
            gate=container.gate,
            reasoner=container.reasoner,
            prober=container.prober,
            probes=settings.vaults.probes,
            prompt_chars=settings.reasoner.prompt_chars,
            transcripts=settings.tick.projects_dir,
            since_h=settings.tick.tuning.extract_since_h,
            min_turns=settings.tick.tuning.extract_min_turns,
            forget_share=settings.tick.forget_share,
            held_us=round(settings.tick.late_s * MICROSECONDS),
        )

    async def work(job: TickJob) -> dict[str, Any]:
        return await tick(job, vaults.of(job.workspace_id), ports())

    async def handle(batch: Sequence[Delivery[TickRequested]]) -> list[Exception | None]:
        results = await handle_all(
            batch, ticks=container.store.ticks, clock=container.clock, work=work, holder=consumer_name(), hold_s=hold_s
        )
        await container.wake.notify()
        return results

    subscriptions = [Subscription(spec=TICK_REQUESTED, handler=handle)]
    return consumer_service(container, "tick", subscriptions, checks={"truth": container.store.check})


def __getattr__(name: str) -> Any:
    return lazy_app(name, {"app": service})
