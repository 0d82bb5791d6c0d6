"""Detects whether an index exists and is the one that was filled, not an empty or older one of the same name.

A special entry marks the index: a tombstone with its own id, whose revision (the epoch) is raised from time to time.
The database stores the epoch after the index has it. So an index without an epoch was recreated, and one with a lower
epoch was restored from a backup.
"""

import uuid
from collections.abc import Sequence

from openbrain.domain.errors import IndexMissing, TryLater
from openbrain.domain.ids import bucket
from openbrain.ports.index import Accountable, Tombstone
from openbrain.ports.store.generations import Generation, Generations, GenerationStatus
from openbrain.usecases.indexes.reconcile import Index

_NAMES = uuid.UUID("6f0c5f0e-52a0-5d0b-9d2e-6b8a3f1f7c11")


def epoch_id(name: str) -> str:
    """The id of the epoch entry of this generation."""
    return str(uuid.uuid5(_NAMES, name))


async def epoch_of(index: Accountable, name: str) -> int:
    """Return the index's epoch; 0 for none. Raise `IndexMissing` if there is no such index."""
    mine = epoch_id(name)
    entry = (await index.read(name, [mine])).get(mine)
    return 0 if entry is None else entry.revision


async def write_epoch(index: Index, name: str, epoch: int) -> None:
    """Write the index's epoch as a tombstone without a time, so that it is never removed as old."""
    mine = epoch_id(name)
    entry = Tombstone(id=mine, memory_id=mine, revision=epoch, bucket=bucket(mine))
    for error in (await index.write(name, [entry])).values():
        raise error


async def check(index: Accountable, generation: Generation) -> None:
    """Raise `IndexMissing` if the index does not exist, `TryLater` while it is being refilled."""
    await epoch_of(index, generation.name)
    if generation.lost_at:
        raise TryLater(
            f"the index {generation.name} was lost and is being refilled: answers may be incomplete until then"
        )


async def all_there(index: Accountable, builder: str, written: Sequence[Generation]) -> None:
    """Raise `IndexMissing` if one of the generations that this builder writes does not exist. One that is being built
    need not exist yet."""
    for item in written:
        if item.builder == builder and item.status != GenerationStatus.BUILDING:
            await epoch_of(index, item.name)


async def note_loss(generations: Generations, index: Accountable, generation: Generation) -> None:
    """Call before a missing index is created. Records the loss of one that was filled, so that the new, empty index is
    not taken for complete."""
    if not generation.epoch or generation.lost_at or generation.status == GenerationStatus.BUILDING:
        return
    try:
        await epoch_of(index, generation.name)
    except IndexMissing:
        await generations.lost(generation)
    except TryLater:
        return  # the code that creates it gets the same error
