"""Agents of a session: they see each other's memories in it."""

from dataclasses import replace

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.caches import Lru
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.agents import Sessions
from openbrain.ports.clock import Clock

_FRESH = MICROSECONDS
_SIZE = 4096


class SessionAgents:
    """The agents of a session, cached for one second."""

    def __init__(self, sessions: Sessions, clock: Clock) -> None:
        self._sessions, self._clock = sessions, clock
        self._known: Lru[tuple[str, str, str], tuple[int, tuple[str, ...]]] = Lru(_SIZE)

    async def of(self, viewer: Viewer) -> Viewer:
        """The viewer, extended by the other agents of its session, whose memories in it become visible."""
        if not viewer.session_id or not viewer.agent_id:
            return viewer
        key, now = (viewer.workspace_id, viewer.agent_id, viewer.session_id), self._clock.now()
        known = self._known.recent(key)
        if known is None or not 0 <= now - known[0] < _FRESH:
            known = now, tuple(await self._sessions.agents_of(*key))
            self._known[key] = known
        return replace(viewer, session_agents=known[1])
