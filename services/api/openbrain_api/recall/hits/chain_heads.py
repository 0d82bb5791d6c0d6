"""What stands in the place of memories that were superseded: an index may still hold them."""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import islice

from openbrain.domain.memory import Memory, Reason
from openbrain.ports.store.memories import Memories

MOST = 20
"""Superseded memories looked at in one read: there are some for as long as an index is behind."""
LONGEST = 50


async def read_heads(rows: Iterable[Memory], memories: Memories) -> Mapping[str, Memory]:
    """By the id of a superseded one, the last of its chain, alive or not. Who may see it is asked by the caller."""
    superseded = list(islice((row.id for row in rows if row.reason is Reason.SUPERSEDED), MOST))
    if not superseded:
        return {}
    chains = await asyncio.gather(*(memories.ancestry(each, LONGEST) for each in superseded))
    last = {old: chain.children[-1] for old, chain in zip(superseded, chains, strict=True) if chain.children}
    heads = await memories.rows(sorted(set(last.values())))
    return {old: heads[head] for old, head in last.items() if head in heads}
