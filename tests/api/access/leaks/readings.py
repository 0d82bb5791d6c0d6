"""Everything that a watcher can read: requests by route, calls by tool. Each is made before and after others leave
something that is hidden from the watcher."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.api.access.leaks.hidden import WORD, Watcher

Asked = tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]
"""A query string, a body."""
EVER = "2000-01-01T00:00:00Z"

PLACES: tuple[dict[str, Any], ...] = (
    {},
    {"agent_id": "bob"},
    {"org": "beta"},
    {"project": WORD, "type": "decision", "tags": [WORD], "source": WORD},
    {"include_scopes": ["agent", "session", "shared"], "since": EVER},
)


def _memories(watcher: Watcher, *, body: bool = False, **more: Any) -> list[Asked]:
    asked = [{**place, **more, **_session(watcher)} for place in PLACES]
    return [(None, each) if body else (each, None) for each in asked]


def _session(watcher: Watcher) -> dict[str, str]:
    return {"session_id": watcher.session} if watcher.session else {}


def readings(watcher: Watcher) -> Mapping[tuple[str, str], Sequence[Asked]]:
    """Requests by route; a path contains `{agent}` where any agent can be named."""
    own = _session(watcher)
    once: list[Asked] = [({}, None)]
    stream: list[Asked] = [({"after": 0, "seconds": 0}, None)]
    return {
        ("POST", "/v1/brain/recall"): _memories(watcher, body=True, query=f"where does the {WORD} nest?", explain=True),
        ("POST", "/v1/brain/recall:batch"): [
            (None, {"queries": [{"query": WORD, **own}, {"query": "depot", "keywords": [WORD], **own}]})
        ],
        ("GET", "/v1/brain/list"): _memories(watcher, limit=100),
        ("GET", "/v1/brain/search"): _memories(watcher, q=WORD, fuzzy=True, facets=["tags", "org", "agent_id"]),
        ("GET", "/v1/brain/tags"): _memories(watcher),
        ("GET", "/v1/brain/scopes"): _memories(watcher),
        ("GET", "/v1/brain/export"): _memories(watcher),
        ("GET", "/v1/brain/brief"): [({"since": EVER, **own, **place}, None) for place in ({}, {"project": WORD})],
        ("GET", "/v1/brain/agent/{agent}/context"): [
            ({**own, **place}, None) for place in ({}, {"project": WORD}, {"org": "beta"})
        ],
        ("GET", "/v1/brain/sessions"): [({}, None), ({"agent_id": "bob"}, None)],
        ("GET", "/v1/brain/review"): [({"days": 1}, None)],
        ("GET", "/v1/brain/subscriptions"): [({}, None), ({"agent_id": "bob"}, None)],
        ("POST", "/v1/brain/forget"): _memories(watcher, body=True, dry_run=True),
        ("GET", "/v1/messages/inbox"): [({}, None), ({"agent_id": "bob"}, None)],
        ("GET", "/v1/messages/stream"): stream,
        ("GET", "/v1/messages/conversation"): [({"agent": other}, None) for other in ("bob", "carol", "ada")],
        ("GET", "/v1/messages/conversation/{agent}"): once,
        ("POST", "/v1/search"): [(None, {"query": WORD, **own})],
        ("GET", "/v1/thoughts/recent"): [(own, None), ({"source": WORD, **own}, None)],
        ("GET", "/v1/thoughts"): [(own, None)],
        ("GET", "/v1/stats"): [(own, None)],
        ("GET", "/v1/amygdala/signals"): [({}, None), ({"state": ["active", "resolved"]}, None)],
        ("GET", "/v1/amygdala/halts"): once,
        ("GET", "/v1/amygdala/state"): once,
        ("GET", "/v1/amygdala/stream"): stream,
        ("GET", "/v1/amygdala/broadcasts"): [({"after": 0}, None)],
        ("GET", "/signal"): once,
        ("GET", "/feed"): once,
        ("GET", "/vault/list"): once,
        ("GET", "/vault/search"): [({"q": WORD}, None)],
        ("GET", "/vault/arcs"): [({"q": f"the {WORD} migration"}, None)],
    }


NAMES_ONE = "names one thing by its id or path: test_a_guessed_id_is_like_one_that_never_was"
WRITES = "answers with what the request itself wrote; what it may not touch: test_visibility, test_foreign_ids"
OPERATORS = "of operators and admins: refused to whoever has no such key, before anything is read (test_narrow_keys)"
OF_THE_PROCESS = "names and numbers of parts of the process, of no tenant: routes_without_memories"
NOT_READ: Mapping[str, str] = {
    "/v1/admin/": OPERATORS,
    "/v1/amygdala/webhooks": OPERATORS,
    "/v1/amygdala/subscribers": "agents that listen, of the workspace alone: test_signals",
    "/health/": OF_THE_PROCESS,
    "/v1/health": OF_THE_PROCESS,
    "/live": OF_THE_PROCESS,
    "/ready": OF_THE_PROCESS,
    "/metrics": OF_THE_PROCESS,
    "/openapi.json": OF_THE_PROCESS,
    "/v1/whoami": "tells of the asking key alone",
    "/vault/read": NAMES_ONE,
    **dict.fromkeys(
        (
            *("/v1/brain/remember", "/v1/brain/import", "/v1/messages/send", "/v1/messages/read", "/v1/thoughts"),
            *(
                "/v1/amygdala/signals",
                "/v1/amygdala/halts",
                "/marker",
                "/ingest",
                "/ingest_with_files",
                "/index_artifact",
                "/tick",
            ),
            *("/v1/brain/sessions", "/v1/brain/subscriptions", "/vault/write_inbox"),
        ),
        WRITES,
    ),
}
"""Why a path is not read (a path that ends with a slash stands for all that begin with it): for routes that are
neither in `readings` nor have an id in their path."""


def tools(watcher: Watcher) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Calls by the name of a reading tool."""
    own = _session(watcher)
    return {
        "brain_recall": [
            {"query": WORD, **own},
            {"query": WORD, "filter": {"agent_id": "bob"}},
            {"query": "x", "org": "beta"},
        ],
        "brain_list": [{"limit": 50, **own}, {"agent_id": "bob"}, {"project": WORD}],
        "brain_search": [{"q": WORD, "fuzzy": True, **own}],
        "brain_tags": [{}],
        "brain_scopes": [{}],
        "brain_context": [{"project": WORD, **own}, {"budget_tokens": 9000}],
        "agent_inbox": [{}, {"agent_id": "bob"}],
        "agent_conversation": [{"agent": "bob"}, {"agent": "carol"}],
        "brain_signals": [{"state": ["active", "acknowledged", "resolved"]}],
        "brain_subscriptions": [{}, {"agent_id": "bob"}],
        "brain_search_arcs": [{"query": f"the {WORD} migration", "min_heat": 0}],
        "brain_refresh": [{}],
        "brain_status": [{}],
        "search": [{"query": WORD}],
        "recent": [{}],
        "stats": [{}],
    }


NAMING_TOOLS = frozenset({"brain_get", "brain_get_arc"})
"""These read what is named: `tests.mcp.test_every_tool.calls`."""
