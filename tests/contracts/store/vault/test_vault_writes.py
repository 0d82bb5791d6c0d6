"""Idempotency of clients' vault writes, which are remembered for a time, on both databases."""

from dataclasses import replace

import pytest

from openbrain.adapters.sql.store import SqlStore
from openbrain.domain.errors import Conflict
from openbrain.ports.store.vault import VaultWrite
from tests.support.store.fixtures import START, FakeClock

WRITE = VaultWrite(
    workspace_id="w1", key="k1:a", content_hash="c" * 64, path="daily/é.md", at=START, expires_at=START + 1000
)


async def test_a_request_is_known_again_until_its_time_is_over(store: SqlStore, clock: FakeClock) -> None:
    assert await store.vault.claim_vault_write(WRITE) == WRITE
    again = replace(WRITE, path="other.md", at=START + 5, expires_at=START + 2000)
    assert await store.vault.claim_vault_write(again) == WRITE
    await store.vault.finish_vault_write(again)
    assert await store.vault.claim_vault_write(again) == replace(WRITE, done=True)
    clock.advance(1000)
    assert await store.vault.claim_vault_write(again) == again


async def test_a_key_with_other_content_is_a_conflict(store: SqlStore) -> None:
    await store.vault.claim_vault_write(WRITE)
    with pytest.raises(Conflict):
        await store.vault.claim_vault_write(replace(WRITE, content_hash="d" * 64))


async def test_keys_of_two_workspaces_are_two(store: SqlStore) -> None:
    await store.vault.claim_vault_write(WRITE)
    await store.vault.finish_vault_write(WRITE)
    other = replace(WRITE, workspace_id="w2", content_hash="d" * 64)
    assert await store.vault.claim_vault_write(other) == other
