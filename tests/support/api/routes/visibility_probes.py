"""How each route could show, or change, a memory that the caller must not see. A new route needs a probe here, or a
reason in `routes_without_memories`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openbrain.domain.memory import Memory, Scope

Route = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One request. `hit`: for a caller who may see the memory, the answer contains its id."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    lines: Sequence[Mapping[str, Any]] = ()
    """NDJSON, instead of a JSON body."""
    hit: bool = True
    like_unknown: bool = False
    """The path or body names the memory: the answer must equal that for an id that never existed."""


Probe = Callable[[Memory, str], Sequence[Ask]]
"""The requests for a memory by a caller who names this session."""


def _subscriptions(method: str) -> Probe:
    """Subscriptions deliver only new memories: tests/flow/signals/test_standing_queries tests what they deliver."""
    path = "/v1/brain/subscriptions"

    def probe(memory: Memory, session: str) -> Sequence[Ask]:
        if method == "REPLAY":
            body = {"since": "2000-01-01T00:00:00Z"}
            return [Ask(method="POST", path=f"{path}/{memory.id}:replay", json=body, hit=False)]
        if method == "POST":
            named = {"project": memory.project, "agent_id": memory.agent_id}
            return [Ask(method=method, path=path, json={"filter": named, "include_own": True}, hit=False)]
        return [Ask(method=method, path=each, hit=False) for each in (path, f"{path}/{memory.id}")]

    return probe


def _session(session: str) -> dict[str, str]:
    return {"session_id": session} if session else {}


def _remember(memory: Memory, session: str) -> Sequence[Ask]:
    body = {
        "content": memory.content,
        "type": memory.type,
        "memory_scope": memory.memory_scope,
        "agent_id": memory.agent_id,
        **({"session_id": session or "s-other"} if memory.memory_scope is Scope.SESSION else {}),
    }
    replacing = {"content": f"instead of {memory.content[:5]}", "type": "fact", **_session(session)}
    return (
        Ask(method="POST", path="/v1/brain/remember", json={**body, **_org(memory)}, hit=True),
        Ask(method="POST", path="/v1/brain/remember", json=body, hit=False),
        Ask(
            method="POST",
            path="/v1/brain/remember",
            json={**replacing, "supersedes": memory.id},
            hit=False,
            like_unknown=True,
        ),
    )


def _org(memory: Memory) -> dict[str, str]:
    return {"org": memory.org} if memory.org else {}


def _batch(memory: Memory, session: str) -> Sequence[Ask]:
    return [
        Ask(
            method="POST",
            path="/v1/brain/remember:batch",
            json={"memories": [ask.json]},
            hit=ask.hit,
            like_unknown=ask.like_unknown,
        )
        for ask in _remember(memory, session)
    ]


def _recall(memory: Memory, session: str) -> Sequence[Ask]:
    filters: list[dict[str, Any]] = [
        {},
        {"agent_id": memory.agent_id},
        {"filter": {"agent_id": memory.agent_id}},
        {"org": memory.org} if memory.org else {"top_k": 100},
        {"project": memory.project},
        {"type": [memory.type], "tags": list(memory.tags), "source": memory.source},
        {"include_scopes": [memory.memory_scope]},
        {"keywords": memory.content.split(), "boost_keywords": 10},
        {"workspace_id": memory.workspace_id, "boost_keywords": memory.content.split()},
        {"since": "2000-01-01T00:00:00Z", "min_confidence": 0},
        {"fold": False, "around": 10, "explain": True},
        {"as_of": "2027-01-15T08:00:00Z", "explain": True, "order": "time"},
    ]
    ask = {"query": memory.content, **_session(session)}
    return [Ask(method="POST", path="/v1/brain/recall", json={**ask, **each}) for each in filters]


def _recall_batch(memory: Memory, session: str) -> Sequence[Ask]:
    """Send each question with another one that does not find the memory, and one that is refused."""
    path = "/v1/brain/recall:batch"
    return [
        Ask(method="POST", path=path, json={"queries": [{"query": "?!"}, ask.json, {"query": 5}, ask.json]})
        for ask in _recall(memory, session)
    ]


def _list(memory: Memory, session: str) -> Sequence[Ask]:
    filters: list[dict[str, Any]] = [
        {},
        {"agent_id": memory.agent_id},
        {"org": memory.org} if memory.org else {"limit": 100},
        {"project": memory.project},
        {"type": memory.type, "tags": list(memory.tags), "source": memory.source},
        {"include_scopes": memory.memory_scope, "workspace_id": memory.workspace_id},
    ]
    return [Ask(method="GET", path="/v1/brain/list", params={**each, **_session(session)}) for each in filters]


def _search(memory: Memory, session: str) -> Sequence[Ask]:
    word = memory.content.split()[0]
    filters: list[dict[str, Any]] = [
        {},
        {"q": f'"{memory.content}"', "highlights": True},
        {"q": f"{word}x", "fuzzy": True},
        {"agent_id": memory.agent_id},
        {"org": memory.org} if memory.org else {"limit": 100},
        {"project": memory.project, "type": memory.type, "tags": list(memory.tags), "source": memory.source},
        {"include_scopes": memory.memory_scope, "workspace_id": memory.workspace_id},
        {"facets": ["type", "tags", "org", "project", "agent_id", "source"], "highlights": True},
    ]
    ask = {"q": memory.content, **_session(session)}
    return [Ask(method="GET", path="/v1/brain/search", params={**ask, **each}) for each in filters]


def _counts(path: str) -> Probe:
    """Answers have values without ids: test_api_discovery tests what they count."""

    def probe(memory: Memory, session: str) -> Sequence[Ask]:
        filters: list[dict[str, Any]] = [{}, {"project": memory.project}, {"org": memory.org}]
        return [Ask(method="GET", path=path, params={**each, **_session(session)}, hit=False) for each in filters]

    return probe


def _brief(memory: Memory, session: str) -> Sequence[Ask]:
    filters: list[dict[str, Any]] = [
        {"limit": 100},
        {"org": memory.org} if memory.org else {},
        {"project": memory.project, "workspace_id": memory.workspace_id},
    ]
    ask = {"since": "2000-01-01T00:00:00Z", **_session(session)}
    return [Ask(method="GET", path="/v1/brain/brief", params={**ask, **each}) for each in filters]


def _context(memory: Memory, session: str) -> Sequence[Ask]:
    filters: list[dict[str, Any]] = [
        {},
        {"org": memory.org} if memory.org else {"max_memories": 200},
        {"project": memory.project, "workspace_id": memory.workspace_id, "budget_tokens": 9000},
    ]
    path = f"/v1/brain/agent/{memory.agent_id}/context"
    return [Ask(method="GET", path=path, params={**each, **_session(session)}) for each in filters]


def _sessions(method: str, path: str, **body: Any) -> Probe:
    """Use a session of that name: the watcher's own, if they have started one."""

    def probe(memory: Memory, session: str) -> Sequence[Ask]:
        named = path.replace("{id}", session or memory.session_id or "s1")
        own = {"session_id": session, "project": memory.project} if session else {"project": memory.project}
        json = {**body, **({} if "{id}" in path else own)} if method == "POST" else None
        return [Ask(method=method, path=named, json=json, hit=False)]

    return probe


def _feedback(memory: Memory, session: str) -> Sequence[Ask]:
    """Name a recall that never existed: test_feedback tests real ones."""
    path = "/v1/brain/recall/0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00/feedback"
    body = {"wrong": [memory.id], **_session(session)}
    return (Ask(method="POST", path=path, json=body, hit=False),)


def _review(memory: Memory, session: str) -> Sequence[Ask]:
    return (Ask(method="GET", path="/v1/brain/review", params={"days": 1, "project": memory.project}, hit=False),)


def _export(memory: Memory, session: str) -> Sequence[Ask]:
    filters: list[dict[str, Any]] = [
        {},
        {"agent_id": memory.agent_id},
        {"org": memory.org} if memory.org else {"cursor": "0.00000000-0000-7000-8000-000000000000"},
        {"project": memory.project, "type": memory.type, "tags": list(memory.tags), "source": memory.source},
        {"include_scopes": memory.memory_scope, "workspace_id": memory.workspace_id},
    ]
    return [Ask(method="GET", path="/v1/brain/export", params={**each, **_session(session)}) for each in filters]


def _import(memory: Memory, session: str) -> Sequence[Ask]:
    """Import a file that names the memory as its own line and as a parent."""
    times = dict.fromkeys(("occurred_at", "confirmed_at", "created_at", "updated_at"), "2020-02-02T00:00:00Z")
    header = {
        "kind": "header",
        "format": "openbrain-export",
        "format_version": 1,
        "export_id": "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
        "exported_at": "2027-01-01T00:00:00Z",
        "workspace_id": memory.workspace_id,
    }
    line = {"kind": "memory", "type": "fact", "memory_scope": "project", "id": memory.id, **times}
    own: list[dict[str, Any]] = [
        header,
        {**line, "content": f"of a file, {memory.memory_scope} {session}", "supersedes_id": memory.id},
    ]
    ask = Ask(method="POST", path="/v1/brain/import", lines=own, params={"dry_run": 1}, hit=False, like_unknown=True)
    return ask, Ask(method="POST", path="/v1/brain/import", lines=own, hit=False)


def _memory(memory: Memory, session: str) -> Sequence[Ask]:
    path = f"/v1/brain/memories/{memory.id}"
    return [
        Ask(method="GET", path=path, params={**history, **_session(session)}, like_unknown=True)
        for history in ({}, {"history": "1"})
    ]


def _related(memory: Memory, session: str) -> Sequence[Ask]:
    path = f"/v1/brain/memories/{memory.id}/related"
    return [
        Ask(method="GET", path=path, params={**more, **_session(session)}, hit=False, like_unknown=True)
        for more in ({}, {"limit": 50})
    ]


def _update(memory: Memory, session: str) -> Sequence[Ask]:
    path, params = f"/v1/brain/memories/{memory.id}", _session(session)
    changes: list[dict[str, Any]] = [{"tags": ["touched"]}, {"confirm": True}]
    return [Ask(method="PATCH", path=path, params=params, json=change, like_unknown=True) for change in changes]


def _forget(memory: Memory, session: str) -> Sequence[Ask]:
    path = f"/v1/brain/forget/{memory.id}"
    return (Ask(method="DELETE", path=path, params=_session(session), json={"reason": "mine"}, like_unknown=True),)


def _restore(memory: Memory, session: str) -> Sequence[Ask]:
    path = f"/v1/brain/memories/{memory.id}:restore"
    return (Ask(method="POST", path=path, params=_session(session), json={"reason": "mine"}, like_unknown=True),)


def _forget_matching(memory: Memory, session: str) -> Sequence[Ask]:
    """Send dry runs: test_api_ending tests what a real one does."""
    filters: list[dict[str, Any]] = [
        {"agent_id": memory.agent_id},
        {"project": memory.project, "type": memory.type, "tags": list(memory.tags), "source": memory.source},
        {"include_scopes": [memory.memory_scope], **_org(memory)},
    ]
    return [Ask(method="POST", path="/v1/brain/forget", json={**each, **_session(session)}) for each in filters]


def _end(memory: Memory, session: str) -> Sequence[Ask]:
    path = f"/v1/brain/memories/{memory.id}"
    return [
        Ask(method="DELETE", path=path, params={**erase, **_session(session)}, json={}, like_unknown=True)
        for erase in ({}, {"erase": "1"})
    ]


def _thoughts(method: str, path: str) -> Probe:
    """Send requests that name the memory or its content: test_thoughts tests what they show to its own agent."""

    def probe(memory: Memory, session: str) -> Sequence[Ask]:
        named, params = path.replace("{id}", memory.id), _session(session)
        bodies: dict[tuple[str, bool], Any] = {
            ("POST", False): {"query": memory.content, **params},
            ("PATCH", True): {"metadata": {"k": "v"}},
        }
        if (method, path) == ("DELETE", "/v1/thoughts"):
            params = {**params, "source": memory.source}
        body = bodies.get((method, "{id}" in path))
        query = {} if method == "POST" else params
        return [Ask(method=method, path=named, params=query, json=body, hit=False, like_unknown="{id}" in path)]

    return probe


PROBES: Mapping[Route, Probe] = {
    ("GET", "/v1/brain/memories/{id}/related"): _related,
    ("POST", "/v1/brain/recall"): _recall,
    ("POST", "/v1/brain/recall:batch"): _recall_batch,
    ("GET", "/v1/brain/list"): _list,
    ("POST", "/v1/brain/forget"): _forget_matching,
    ("GET", "/v1/brain/search"): _search,
    ("GET", "/v1/brain/tags"): _counts("/v1/brain/tags"),
    ("GET", "/v1/brain/scopes"): _counts("/v1/brain/scopes"),
    ("GET", "/v1/brain/brief"): _brief,
    ("GET", "/v1/brain/agent/{agent}/context"): _context,
    ("POST", "/v1/brain/sessions"): _sessions("POST", "/v1/brain/sessions"),
    ("GET", "/v1/brain/sessions"): _sessions("GET", "/v1/brain/sessions"),
    ("GET", "/v1/brain/sessions/{id}"): _sessions("GET", "/v1/brain/sessions/{id}"),
    ("POST", "/v1/brain/sessions/{id}/append"): _sessions(
        "POST", "/v1/brain/sessions/{id}/append", turns=[{"turn": 1, "content": "said"}]
    ),
    ("POST", "/v1/brain/sessions/{id}/end"): _sessions("POST", "/v1/brain/sessions/{id}/end", summary="done"),
    ("POST", "/v1/brain/recall/{id}/feedback"): _feedback,
    ("GET", "/v1/brain/review"): _review,
    ("POST", "/v1/brain/subscriptions"): _subscriptions("POST"),
    ("GET", "/v1/brain/subscriptions"): _subscriptions("GET"),
    ("GET", "/v1/brain/subscriptions/{id}"): _subscriptions("GET"),
    ("POST", "/v1/brain/subscriptions/{id}:replay"): _subscriptions("REPLAY"),
    ("DELETE", "/v1/brain/subscriptions/{id}"): _subscriptions("DELETE"),
    ("GET", "/v1/brain/export"): _export,
    ("GET", "/v1/brain/memories/{id}"): _memory,
    ("PATCH", "/v1/brain/memories/{id}"): _update,
    ("POST", "/v1/brain/memories/{id}:restore"): _restore,
    **{
        (method, path): _thoughts(method, path)
        for method, path in (
            ("POST", "/v1/search"),
            ("GET", "/v1/thoughts/recent"),
            ("GET", "/v1/thoughts"),
            ("GET", "/v1/thoughts/{id}"),
            ("PATCH", "/v1/thoughts/{id}"),
            ("DELETE", "/v1/thoughts/{id}"),
            ("DELETE", "/v1/thoughts"),
            ("GET", "/v1/stats"),
        )
    },
    # Then routes that write the same content, which belongs to the writer from here on.
    ("POST", "/v1/brain/remember"): _remember,
    ("POST", "/v1/brain/remember:batch"): _batch,
    ("POST", "/v1/brain/import"): _import,
    # Last: where it is allowed, this ends the memory.
    ("DELETE", "/v1/brain/forget/{id}"): _forget,
    ("DELETE", "/v1/brain/memories/{id}"): _end,
}
