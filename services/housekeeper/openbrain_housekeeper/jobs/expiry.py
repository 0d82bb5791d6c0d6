"""Job `expire`: memories past their time end."""

from openbrain.ports.store.store import Store


async def expire(store: Store, limit: int) -> int:
    """End memories whose time has come."""
    return await store.writes.expire_due(limit, await store.time())
