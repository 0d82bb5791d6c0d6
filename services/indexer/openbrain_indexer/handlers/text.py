"""Projects rows of the database into the full-text index."""

from collections.abc import Iterable, Sequence

from openbrain.domain.ids import bucket, digest
from openbrain.domain.memory import Memory, names_of
from openbrain.domain.text.passages import header, passages
from openbrain.ports.index import TextEntry, Tombstone
from openbrain.ports.store.generations import Generation, IndexKind
from openbrain.ports.store.store import Store
from openbrain_indexer.handlers.projection import Failures, Writable, fields, in_turns, project, tombstones, write_all


async def project_text(
    memory_ids: Iterable[str], generations: Sequence[Generation], *, store: Store, index: Writable[TextEntry]
) -> Failures:
    """Bring these text generations up to date with the current rows of these memories."""

    async def write(rows: Sequence[Memory]) -> tuple[Failures, Sequence[Memory]]:
        entries: list[TextEntry | Tombstone] = []
        async for row in in_turns(rows):
            if row.ended:
                entries.extend(tombstones(row, first=0, end=1))
            else:
                entries.append(text_entry(row, index.builder))
        return await write_all(index, generations, entries), rows

    return await project(
        memory_ids, IndexKind.TEXT, store=store, generations=generations, write=write, at_once=index.at_once
    )


def text_entry(memory: Memory, builder: str) -> TextEntry:
    """Header (date and speaker), title, content, aliases and tags as one searchable text. Long content is also split
    into passages, each with the same header, title, aliases and tags."""
    texts = (memory.content, *passages(memory.content))
    before, behind = (header(memory), memory.title), (" ".join(memory.aliases), " ".join(memory.tags))
    full, *parts = ("\n".join(filter(None, (*before, text, *behind))) for text in texts)
    return TextEntry(
        id=memory.id,
        memory_id=memory.id,
        revision=memory.revision,
        bucket=bucket(memory.id),
        digest=digest(memory.id, 0, memory.revision, memory.updated_at, memory.content_hash, builder),
        fields=fields(memory),
        text=full,
        metadata=memory.metadata,
        passages=tuple(parts),
        names=names_of(memory),
    )
