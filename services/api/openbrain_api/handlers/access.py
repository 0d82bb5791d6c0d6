"""What a key is told about itself."""

from openbrain_api.http.reply import Reply, answer
from openbrain_api.http.route import Call, Nothing


async def whoami(call: Call[Nothing, Nothing]) -> Reply:
    """Who the credential is, and what it may."""
    actor = call.actor
    told = {
        "key_id": actor.key_id,
        "name": actor.name,
        "workspace_id": actor.workspace_id,
        "agent_id": actor.agent_id or None,
        "permissions": sorted(actor.permissions),
        "orgs": actor.orgs,
        "without_org": actor.without_org,
        "act_as": actor.act_as,
    }
    return answer(told, told)
