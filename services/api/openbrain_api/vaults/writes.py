"""The caller's vault, and the only way to write to it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from openbrain.domain.access.permissions import Permission
from openbrain.domain.errors import Conflict, Forbidden, NotFound, TryLater
from openbrain.domain.memory import HOUR
from openbrain.domain.tasks import in_thread
from openbrain.ports.store.vault import VaultWrite
from openbrain.usecases.vault_lock import vault_writer
from openbrain.vault.files.changes import Change, sha256
from openbrain.vault.files.folder import Folder
from openbrain.vault.pages import journal
from openbrain_api.http import parsing
from openbrain_api.http.route import Call

_ATTEMPTS = 3
"""Attempts to write: people edit pages too, and a draft that conflicts with an edit is made again."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A request's changes to the vault; none if everything is there already."""

    changes: Sequence[Change]
    response: dict[str, Any]
    """The response that reports them."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A request to write. `path_of(at)` returns the target path, `draft_of(path, at)` the changes. Both run in a thread
    under the vault's lock."""

    key: str
    content_hash: str
    path_of: Callable[[int], str]
    draft_of: Callable[[str, int], Draft]


def vault_of(call: Call[Any, Any]) -> Folder:
    """The vault of the key's workspace. Raise `NotFound` if it has none, `Forbidden` for keys limited to orgs."""
    vaults = call.api.settings.vaults
    root = vaults.folders.get(call.actor.workspace_id)
    if root is None:
        raise NotFound("this workspace has no vault: an operator names one in OPENBRAIN_VAULTS__FOLDERS")
    if call.actor.orgs is not None:
        raise Forbidden("a vault belongs to its whole workspace, and this key is limited to its orgs")
    return Folder(root, max_bytes=vaults.tuning.file_kb * 1024)


def readable_vault(call: Call[Any, Any], org: str | None) -> Folder | None:
    """The vault; None if the key may not read it, or the request is narrowed to an org: a vault has no orgs."""
    if Permission.VAULT_READ not in call.actor.permissions or org:
        return None
    try:
        return vault_of(call)
    except (NotFound, Forbidden):
        return None


def key_of(call: Call[Any, Any], content_hash: str) -> str:
    """The request's idempotency key: `Idempotency-Key`, the original's `X-Idempotency-Key`, or the content's hash."""
    headers = dict(call.headers)
    if (own := headers.get(b"x-idempotency-key")) and b"idempotency-key" not in headers:
        headers[b"idempotency-key"] = own
    return parsing.idempotency_key(headers) or content_hash


def hash_of(*parts: str) -> str:
    """An unambiguous hash of all parts of a request."""
    return sha256("\0".join(f"{len(part)} {part}" for part in parts).encode())


async def write_once(call: Call[Any, Any], folder: Folder, request: WriteRequest) -> tuple[VaultWrite, Draft | None]:
    """Write once. A repeated request returns the first write and no draft. Raise `VaultBusy` if the vault stays locked
    for too long."""
    actor, store = call.actor, call.api.store
    async with vault_writer(store.leases, actor.workspace_id, folder, wait_s=call.api.settings.vaults.tuning.wait_s):
        await in_thread(partial(journal.recover, folder))
        now = call.api.clock.now()
        write = await store.vault.claim_vault_write(
            VaultWrite(
                workspace_id=actor.workspace_id,
                key=f"{actor.key_id}:{request.key}",
                content_hash=request.content_hash,
                path=await asyncio.to_thread(request.path_of, now),
                at=now,
                expires_at=now + call.api.settings.housekeeping.tuning.request_key_hours * HOUR,
            )
        )
        if write.done:
            return write, None
        draft = await in_thread(partial(_applied, folder, request, write))
        await store.vault.finish_vault_write(write)
        return write, draft


def _applied(folder: Folder, request: WriteRequest, write: VaultWrite) -> Draft:
    for _ in range(_ATTEMPTS):
        draft = request.draft_of(write.path, write.at)
        try:
            applied = journal.apply(folder, draft.changes)
        except Conflict:
            continue
        if not applied.edited:  # else somebody changed a page while it was written, and their text stays
            return draft
    raise TryLater("the page was edited during each attempt: try again in a minute")
