"""What others leave in a brain: each kind of thing, by each author, in each place.

Whether a watcher may see it is decided here in plain code, independently of the product's own predicate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx

WORD = "zebrafinch"
"""Occurs in every text, tag, project and name that is left."""
ARC = """---
cluster_id: {id}
title: The {word} migration
region: left-hemisphere
status: active
heat: 6
project: {word}
created: 2026-01-02T10:00:00Z
---
# The {word} migration

Moved the {word} tables.
"""


@dataclass(frozen=True)
class Watcher:
    """The reader, in the workspace `w`."""

    name: str
    agent: str = "ada"
    orgs: tuple[str, ...] | None = None
    without_org: bool = True
    session: str = ""

    @property
    def limits(self) -> dict[str, Any]:
        return {"orgs": self.orgs, "without_org": self.without_org}


@dataclass(frozen=True)
class Left:
    """One thing that somebody leaves."""

    kind: str
    author: str = "bob"
    org: str = ""
    session: str = ""
    workspace: str = "w"

    def hidden_from(self, watcher: Watcher) -> bool:
        """True if the watcher may not know of it."""
        if self.workspace != "w":
            return True
        if self.kind == "halt" and not self.org:
            return False  # whoever raises a halt is told of it
        if not _of_its_orgs(self.org, watcher):
            return True
        if self.kind == "note":
            return watcher.agent not in {self.author, "ada"}
        if self.kind == "session memory":
            return (self.author, self.session) != (watcher.agent, watcher.session)
        return self.kind in PERSONAL and self.author != watcher.agent

    @property
    def place(self) -> dict[str, str]:
        return {"org": self.org} if self.org else {}


def _of_its_orgs(org: str, watcher: Watcher) -> bool:
    if watcher.orgs is None:
        return True
    return org in watcher.orgs or (not org and watcher.without_org)


KINDS = (
    *("memory", "shared memory", "agent memory", "session memory", "replaced", "forgotten", "thought"),
    *("message", "note", "session", "subscription", "signal", "halt"),
)
OF_A_VAULT = ("page", "arc")
PERSONAL = frozenset({"agent memory", "replaced", "forgotten", "thought", "message", "session", "subscription"})
"""Kinds that only the author may see within a workspace. A note goes to ada."""


def everything() -> Iterator[Left]:
    """Every meaningful combination; in the other workspace, by an agent of the same name."""
    for kind, author, org, session in product(KINDS, ("ada", "bob"), ("", "alpha", "beta"), ("", "s1", "s9")):
        if bool(session) == (kind == "session memory") and not (kind == "subscription" and org):
            yield Left(kind, author, org, session)
    for kind in (*KINDS, *OF_A_VAULT):
        yield Left(kind, "ada", "", "s1" if kind == "session memory" else "", workspace="o")


Names = dict[str, list[str]]
"""Ids of what was left, by kind."""


async def leave(left: Left, number: int, client: httpx.AsyncClient, vault: Path | None) -> Names:
    """Leave it with the author's client; `number` makes its texts unique."""
    made: Names = await _LEAVING[left.kind](left, f"{WORD} {number}", client, vault)
    return made


def named(kind: str, *ids: str) -> Names:
    return {kind: list(ids)}


async def _post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status_code in (200, 201, 202), f"{path} {body}: {response.text}"
    made: dict[str, Any] = response.json()
    return made


def _memory(scope: str, **more: Any) -> Callable[..., Any]:
    async def made(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
        body = {
            "content": f"The {text} nests in the depot.",
            "type": "decision",
            "memory_scope": scope,
            "tags": [WORD],
            "source": WORD,
            "project": WORD,
            "title": f"On the {text}",
            "aliases": [f"{text} of old"],
            "metadata": {WORD: text},
            "confidence": 0.9,
            **left.place,
            **more,
        }
        if left.session:
            body["session_id"] = left.session
        return named("memory", (await _post(client, "/v1/brain/remember", body))["id"])

    return made


async def _replaced(left: Left, text: str, client: httpx.AsyncClient, vault: Path | None) -> Names:
    """A memory that the author replaced by another one."""
    (old,) = (await _memory("agent")(left, f"{text} old", client, vault))["memory"]
    (new,) = (await _memory("agent", supersedes=old)(left, f"{text} new", client, vault))["memory"]
    return named("memory", old, new)


async def _forgotten(left: Left, text: str, client: httpx.AsyncClient, vault: Path | None) -> Names:
    (gone,) = (await _memory("agent")(left, f"{text} gone", client, vault))["memory"]
    answer = await client.request("DELETE", f"/v1/brain/forget/{gone}", json={"reason": f"no {WORD} any more"})
    assert answer.status_code == 200, answer.text
    return named("memory", gone)


async def _thought(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    body = {"content": f"Mind the {text}.", "source": WORD, "memory_scope": "agent", "project": WORD, **left.place}
    made = await _post(client, "/v1/thoughts", body)
    return named("memory", made.get("id") or made["thought"]["id"])


async def _message(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    """To ada, or to another agent."""
    to = "ada" if left.kind == "note" else "carol"
    body = {"to": to, "content": f"Mind the {text}.", "subject": text, **left.place}
    return named("message", (await _post(client, "/v1/messages/send", body))["id"])


async def _session(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    """A session with turns and a handover that only the author may see."""
    name = text.replace(" ", "-")
    await _post(client, "/v1/brain/sessions", {"session_id": name, "project": WORD, **left.place})
    await _post(client, f"/v1/brain/sessions/{name}/append", {"turns": [{"turn": 1, "content": f"A {text} sang."}]})
    return named("session", name)


async def _subscription(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    return named("subscription", (await _post(client, "/v1/brain/subscriptions", {"query": text}))["id"])


async def _signal(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    body = {"source": text, "severity": "critical", "title": f"{text} burns", "project": WORD, **left.place}
    return named("signal", (await _post(client, "/v1/amygdala/signals", body))["signal"]["id"])


async def _halt(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    body = {"title": f"{text} halts", "source": text, "scope": "org" if left.org else "workspace", **left.place}
    made = await _post(client, "/v1/amygdala/halts", body)
    return {"signal": [made["signal"]["id"]], "halt": [made["halt"]["id"]]}


async def _page(left: Left, text: str, client: httpx.AsyncClient, _vault: Path | None) -> Names:
    await _post(client, "/vault/write_inbox", {"content": f"The {text} page.", "title": text, "tags": [WORD]})
    return {}


async def _arc(left: Left, text: str, _client: httpx.AsyncClient, vault: Path | None) -> Names:
    assert vault is not None
    folder, name = vault / "left" / "arcs", f"2026-01-02-{text.replace(' ', '-')}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(ARC.format(id=name, word=text), "utf-8")
    (vault / "brain-feed").mkdir(exist_ok=True)
    feed = f"---\nid: intent\ntitle: Intent\npriority: 7\nttl: 60\nseverity: info\n---\n\nThe {text} move.\n"
    (vault / "brain-feed" / "intent.md").write_text(feed, "utf-8")
    return named("arc", name)


_LEAVING: dict[str, Callable[..., Any]] = {
    "memory": _memory("project"),
    "shared memory": _memory("shared"),
    "agent memory": _memory("agent"),
    "session memory": _memory("session"),
    "replaced": _replaced,
    "forgotten": _forgotten,
    "thought": _thought,
    "message": _message,
    "note": _message,
    "session": _session,
    "subscription": _subscription,
    "signal": _signal,
    "halt": _halt,
    "page": _page,
    "arc": _arc,
}
