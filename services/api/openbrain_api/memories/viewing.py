"""Whose eyes a request reads with, in the session that it names."""

from typing import Any

from openbrain.domain.access.visibility import Viewer
from openbrain.usecases.auth import Actor
from openbrain_api.http.route import Call


async def viewer_of(call: Call[Any, Any], session_id: str | None, actor: Actor | None = None) -> Viewer:
    """For reading: what is changed must be the agent's own."""
    return await call.api.session_agents.of((actor or call.actor).viewer(session_id or ""))
