"""Whether an index is there and is the one that was filled, and not an empty or an older one under its name.

One entry of the index tells: a tombstone of an id of its own, whose revision (the epoch) rises now and then. The truth
notes the epoch after the index has it. So an index that has none was made anew, and one with a lower one was restored.
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
    """Of the entry in this generation."""
    return str(uuid.uuid5(_NAMES, name))


async def epoch_of(index: Accountable, name: str) -> int:
    """The index's epoch; 0 for none. `IndexMissing` where there is no such index."""
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
    """`IndexMissing` where it is not there, `TryLater` while it is filled again."""
    await epoch_of(index, generation.name)
    if generation.lost_at:
        raise TryLater(
            f"the index {generation.name} was lost and is filled again: answers may lack what is not in it yet"
        )


async def all_there(index: Accountable, builder: str, written: Sequence[Generation]) -> None:
    """`IndexMissing` where one of those that this builder writes is not there. One that is being built may not be
    made yet."""
    for item in written:
        if item.builder == builder and item.status != GenerationStatus.BUILDING:
            await epoch_of(index, item.name)


async def note_loss(generations: Generations, index: Accountable, generation: Generation) -> None:
    """Asked before an index is made where it is missing: one that was filled is noted as lost first, so that nobody
    takes the new one, which is empty, for whole."""
    if not generation.epoch or generation.lost_at or generation.status == GenerationStatus.BUILDING:
        return
    try:
        await epoch_of(index, generation.name)
    except IndexMissing:
        await generations.lost(generation)
    except TryLater:
        return  # whoever makes it meets that himself
