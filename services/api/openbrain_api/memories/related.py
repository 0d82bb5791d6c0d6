"""Memories linked to one: the nearest, those of its session, those with the same name, and its chain."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from openbrain.domain import limits
from openbrain.domain.access.visibility import Criteria, Viewer, matches, visible
from openbrain.domain.memory import Memory, names_of
from openbrain.ports.store.memories import Ancestry, Memories
from openbrain_api.memories.chains import LONGEST, may_see
from openbrain_api.recall.comparing.similarity import Precision
from openbrain_api.recall.engine import Recaller
from openbrain_api.recall.order import RankedMemory
from openbrain_api.recall.question import Match, Question


@dataclass(frozen=True, slots=True)
class Related:
    """Linked memories by kind. All are visible to the viewer; the memory itself is not among them."""

    near: Sequence[RankedMemory]
    session: Sequence[Memory]
    named: Sequence[Memory]
    chain: Ancestry
    degraded: tuple[str, ...]


async def read_related(
    memory: Memory, viewer: Viewer, limit: int, *, memories: Memories, recaller: Recaller, now: int
) -> Related:
    """Read at most `limit` of each kind; of the session, the turns closest to the memory."""
    questions = _questions(memory, viewer, limit)
    answers = dict(zip(questions, await recaller.recall(list(questions.values())), strict=True)) if questions else {}
    ranked = {kind: [hit for hit in answer.ranked if hit.memory.id != memory.id] for kind, answer in answers.items()}
    ancestry = await memories.ancestry(memory.id, LONGEST)
    rows = await memories.rows([*ancestry.parents, *ancestry.children])
    return Related(
        near=ranked.get("near", [])[:limit],
        session=await _of_session(memory, viewer, limit, memories, now),
        named=[hit.memory for hit in ranked.get("named", [])][:limit],
        chain=Ancestry(_visible(ancestry.parents, rows, viewer), _visible(ancestry.children, rows, viewer)),
        degraded=tuple(dict.fromkeys(name for answer in answers.values() for name in answer.degraded)),
    )


def _questions(memory: Memory, viewer: Viewer, limit: int) -> Mapping[str, Question]:
    texts = {"near": memory.content, "named": "\n".join(names_of(memory))}
    return {
        kind: Question(
            query=text[: limits.QUERY_CHARS],
            top_k=limit + 1,
            viewer=viewer,
            criteria=Criteria(),
            match=Match.MEANING if kind == "near" else Match.NAMES,
            precision=Precision.RECALL,
            neighbours=False,
            spread=False,
            fold=False,  # what says the same would be folded into the memory itself, which is left out
            time_words=False,
        )
        for kind, text in texts.items()
        if text.strip()
    }


async def _of_session(memory: Memory, viewer: Viewer, limit: int, memories: Memories, now: int) -> Sequence[Memory]:
    if not memory.session_id:
        return ()
    condition = visible(viewer, Criteria(), now)
    ids = await memories.of_same_session(memory, condition, limit)
    rows = await memories.rows(ids)
    return [rows[item] for item in ids if item in rows and rows[item].alive(now) and matches(condition, rows[item])]


def _visible(ids: Iterable[str], rows: Mapping[str, Memory], viewer: Viewer) -> tuple[str, ...]:
    return tuple(item for item in ids if item in rows and may_see(viewer, rows[item]))
