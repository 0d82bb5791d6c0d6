"""Wires the operation `clean`."""

from collections.abc import Sequence
from functools import partial

from openbrain.ports.content import Action
from openbrain.ports.store.operations import Operation
from openbrain.runtime import adapters
from openbrain.runtime.container import Container
from openbrain.usecases.content.cleaning import Stripping
from openbrain.usecases.content.policy import stripping
from openbrain.usecases.content.vault_cleaning import VaultPages
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages.index import state_file
from openbrain_housekeeper.back_pressure import held_back, paced
from openbrain_housekeeper.handlers.lifecycle.clean import Cleaning, Streams
from openbrain_housekeeper.jobs.operations import Step


def cleaning(container: Container, streams: Streams) -> Step:
    """The step of `clean`, paced to leave time for live traffic."""
    store, clock = container.store, container.clock
    rules, vault = partial(_stripping, container), partial(_vault, container)
    step = Cleaning(store.cleansing, store.lifecycle, store.operations, store.outbox, clock, streams, rules, vault)
    return held_back(paced(step), container.pressure)


async def _stripping(container: Container, operation: Operation) -> Sequence[Stripping]:
    """What to strip: secrets first, as at every write, then personal data."""
    wanted, made = operation.request["rule"], []
    if wanted.get("strip_secrets"):
        detector = adapters.secret_detector()
        await detector.ready()
        made.append(Stripping(detector, stripping(detector, Action.MASK)))
    if wanted.get("strip_pii"):
        detector = adapters.personal_data_detector()
        rule = (await container.store.workspaces.personal_data_rules()).get(operation.workspace_id)
        hashed = rule is not None and rule.action is Action.HASH
        action, key = (Action.HASH, rule.key) if rule is not None and hashed else (Action.MASK, "")
        made.append(Stripping(detector, stripping(detector, action, key)))
    return made


def _vault(container: Container, workspace_id: str) -> VaultPages | None:
    """The workspace's vault; None if it has none, or if this process has no setting for it."""
    settings = container.settings
    root = settings.vaults.folders.get(workspace_id)
    if root is None:
        return None
    known = state_file(settings.data_dir, workspace_id, root)
    folder = Folder(root, max_bytes=settings.vaults.tuning.file_kb * 1024)
    return VaultPages(workspace_id, folder, container.store.leases, partial(known.unlink, missing_ok=True))
