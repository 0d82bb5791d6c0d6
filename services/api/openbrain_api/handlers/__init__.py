"""The handlers by resource. Their routes define the router, the OpenAPI document and the visibility tests."""

from openbrain_api.handlers import messages, system, thoughts
from openbrain_api.handlers.admin import access, dead_letters, indexes, lifecycle, models, operations, streams
from openbrain_api.handlers.amygdala import broadcasts, halts, signals, webhooks
from openbrain_api.handlers.brain import (
    brief,
    context,
    discovery,
    feedback,
    forgetting,
    memories,
    recall,
    related,
    sessions,
    subscriptions,
    transfer,
)
from openbrain_api.handlers.vault import artifacts, health, pages, posts, ticks
from openbrain_api.http.route import Route

_RESOURCES = (
    *(memories, related, recall, forgetting, discovery, brief, context, sessions, feedback, subscriptions, transfer),
    *(access, operations, lifecycle, indexes, models, streams, dead_letters),
    messages,
    thoughts,
    *(signals, halts, broadcasts, webhooks),
    *(pages, posts, artifacts, health, ticks),
    system,
)
ROUTES = tuple(value for module in _RESOURCES for value in vars(module).values() if isinstance(value, Route))
