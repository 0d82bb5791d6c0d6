"""The tags of the document: one for each package of handlers."""

from openbrain_api.http.route import Route

TAGS = {
    "brain": "Memories: stored, found, changed, ended, moved in and out.",
    "messages": "From agent to agent.",
    "thoughts": "Turns of conversations: each stored once, letter by letter, and found again.",
    "admin": "Workspaces, keys, operations, indexes, models and streams, for operators.",
    "amygdala": "Signals, halts, broadcasts and webhooks.",
    "vault": "A vault of Markdown files: its feed, its pages, posts to it, its ticks.",
    "system": "How the process and the system are, and this document.",
}


def tag_of(route: Route) -> str:
    """The package, or the module, of its handler."""
    return route.handler.__module__.split(".")[2]
