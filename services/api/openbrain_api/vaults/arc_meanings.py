"""Meanings of a vault's arcs: token states of their beginnings, made when a question first needs them.

They are made in the background and cached in memory by the hash of the text. The next question drops those of arcs that
are gone. Without token states, arcs are found only by their words.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import structlog

from openbrain.domain.caches import Lru
from openbrain.domain.errors import OpenBrainError
from openbrain.domain.ids import content_hash
from openbrain.domain.tasks import cancel, chunks
from openbrain.ports.models import TokenEncoder
from openbrain_api.recall.comparing.similarity import SHARE_IF_LONG, floor

WAIT_S: Final = 1.0
"""Longest wait of a question for missing token states."""
BATCH: Final = 16
MOST: Final = 5000
"""Most arcs of a vault that are compared by meaning: some 20 MB."""
LEAST: Final = 0.3
"""Least similarity that counts: with few arcs, unrelated questions reach up to this."""
WORKSPACES: Final = 16
_log = structlog.get_logger(__name__)
States = Mapping[str, bytes]
"""Token states by the hash of a text."""


class ArcMeanings:
    """Compares questions with arcs by meaning."""

    def __init__(self, encoder: TokenEncoder | None) -> None:
        self._encoder = encoder
        self._states: Lru[str, dict[str, bytes]] = Lru(WORKSPACES)
        self._making: dict[str, asyncio.Task[None]] = {}

    async def near(self, workspace_id: str, question: str, texts: Sequence[str]) -> tuple[Sequence[float], bool]:
        """Return each text's similarity to the question (0..1, 0 if not near), and whether all were compared; missing
        ones are made in the background for later questions. `texts`: those of a whole vault, most important first."""
        if self._encoder is None or not texts:
            return [0.0] * len(texts), True
        keys = [content_hash(text) for text in texts]
        states = await self._known(self._encoder, workspace_id, dict(zip(keys[:MOST], texts, strict=False)))
        ((_, words),) = await self._encoder.encode_queries([question])
        known = [number for number, key in enumerate(keys) if key in states]
        documents = [[states[keys[number]]] for number in known]
        similarities = await asyncio.to_thread(self._encoder.similarities, words, documents)
        near = [0.0] * len(texts)
        for number, similarity in zip(known, similarities, strict=True):
            near[number] = min(1.0, similarity.alone) if similarity else 0.0
        least = max(LEAST, floor(len(known)), SHARE_IF_LONG * max(near))
        return [item if item >= least else 0.0 for item in near], len(known) == len(texts)

    async def close(self) -> None:
        """Cancel the background work."""
        await cancel(*self._making.values())

    async def _known(self, encoder: TokenEncoder, workspace_id: str, texts: Mapping[str, str]) -> States:
        before = self._states.recent(workspace_id) or {}
        states = self._states[workspace_id] = {key: before[key] for key in texts if key in before}
        missing = {key: text for key, text in texts.items() if key not in states}
        task = self._making.get(workspace_id)
        if missing and (task is None or task.done()):
            task = self._making[workspace_id] = asyncio.create_task(self._make(encoder, workspace_id, missing))
        if missing and task is not None:
            await asyncio.wait([task], timeout=WAIT_S)
        return self._states.get(workspace_id, states)

    async def _make(self, encoder: TokenEncoder, workspace_id: str, texts: Mapping[str, str]) -> None:
        try:
            for some in chunks(list(texts), BATCH):
                made = await encoder.encode([texts[key] for key in some])
                states = self._states.get(workspace_id)
                if states is None:  # evicted by questions of other workspaces
                    return
                states |= {key: item.states for key, item in zip(some, made, strict=True)}
        except OpenBrainError as error:
            _log.warning("api.arcs_not_compared", workspace_id=workspace_id, error=type(error).__name__)
        finally:
            self._making.pop(workspace_id, None)
