"""Example bodies for the OpenAPI document: current forms first, then those of older clients."""

from collections.abc import Mapping

from pydantic import BaseModel

from openbrain.contract.admin.access import KeyBody, WorkspaceBody
from openbrain.contract.admin.dead_letters import DeadDiscardBody, DeadReplayBody
from openbrain.contract.admin.indexes import ReindexBody, VerifyBody
from openbrain.contract.admin.models import ModelChangeBody
from openbrain.contract.admin.streams import BuryBody, OutsideBody, PauseBody, ReplayBody, ResumeBody
from openbrain.contract.amygdala.signals import HaltBody, SignalBody
from openbrain.contract.amygdala.webhooks import WebhookBody
from openbrain.contract.brain.feedback import FeedbackBody
from openbrain.contract.brain.memories import BatchBody, BulkBody, ForgetBody, PatchBody, RememberBody
from openbrain.contract.brain.recall import RecallBatchBody, RecallBody
from openbrain.contract.brain.sessions import AppendBody, EndBody, StartBody
from openbrain.contract.brain.subscriptions import SubscriptionBody, SubscriptionReplayBody
from openbrain.contract.messages import ReadBody, SendBody
from openbrain.contract.thoughts import ThoughtBatchBody, ThoughtBody, ThoughtSearchBody
from openbrain.contract.vault.pages import ArtifactBody, InboxBody, MarkerBody

Examples = Mapping[str, Mapping[str, object]]
"""Name -> body."""

EXAMPLES: Mapping[type[BaseModel], Examples] = {
    RememberBody: {
        "a decision of a project": {
            "content": "We use Redis Streams and no second broker: one system less to run.",
            "type": "decision",
            "org": "acme",
            "project": "shop",
            "tags": ["architecture", "streams"],
            "confidence": 0.9,
        },
        "something an agent keeps for itself": {
            "content": "The user prefers direct answers without a preamble.",
            "type": "observation",
            "memory_scope": "agent",
            "agent_id": "ada",
            "confidence": 0.95,
        },
        "one turn of a conversation": {
            "content": "Let us meet at the weir on Friday.",
            "type": "context",
            "memory_scope": "session",
            "session_id": "s-1",
            "turn": 3,
            "speaker": "Bo",
            "occurred_at": "2026-01-31T12:00:00Z",
        },
        "for a day, from an older client": {
            "content": "The staging database is read-only.",
            "type": "fact",
            "expires_in": 24,
            "source": "hook",
        },
    },
    SubscriptionBody: {
        "a query within a project": {"query": "payments time out", "filter": {"project": "shop"}},
        "whatever is decided": {"filter": {"org": "acme", "type": ["decision", "convention"]}, "include_own": True},
    },
    SubscriptionReplayBody: {
        "of a day": {"since": "2026-11-01T00:00:00Z", "until": "2026-11-02T00:00:00Z"},
    },
    BatchBody: {
        "two at once": {
            "memories": [
                {"content": "Deploys are on Tuesdays.", "type": "convention"},
                {"content": "The gateway times out after 30 s.", "type": "fact", "idempotency_key": "gateway-1"},
            ]
        }
    },
    RecallBody: {
        "a question within a project": {"query": "why no second broker?", "org": "acme", "project": "shop", "top_k": 5},
        "with keywords that count extra": {
            "query": "how do services register?",
            "keywords": ["Service", "Register"],
            "boost_keywords": 0.3,
        },
        "an agent's own and what all share": {
            "query": "user preferences",
            "agent_id": "ada",
            "include_scopes": ["agent", "shared"],
        },
        "an older client's form": {
            "query": "deploy",
            "limit": 5,
            "filter": {"org": "acme", "type": ["convention", "decision"], "min_confidence": 0.5},
            "boost_keywords": ["tuesday"],
        },
    },
    RecallBatchBody: {
        "two questions, one of them narrowed": {
            "queries": [
                {"query": "why no second broker?", "top_k": 3},
                {"query": "when are deploys?", "project": "shop", "type": "convention"},
            ]
        }
    },
    PatchBody: {
        "new words": {"content": "Deploys are on Wednesdays.", "tags": ["ops"]},
        "still true": {"confirm": True},
        "without an end": {"expires_at": None},
        "filed elsewhere": {"project": "shop-api", "org": "core"},
    },
    FeedbackBody: {
        "one helped, one is out of date": {
            "used": ["0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00"],
            "wrong": ["0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f01"],
            "reason": "the gateway times out after 60 s now",
        }
    },
    StartBody: {
        "work on a project": {"org": "acme", "project": "shop"},
        "an agent's own id, with another one": {
            "session_id": "0198f3a2-5c1e-7b6d-9a55-0d4c3b2a1f00",
            "project": "shop",
            "policy": "promote",
            "days": 30,
            "agents": ["bo"],
        },
    },
    AppendBody: {
        "two turns": {
            "turns": [
                {"turn": 1, "speaker": "user", "content": "Why is the cart empty?"},
                {"turn": 2, "speaker": "ada", "content": "The queue was purged at noon."},
            ]
        }
    },
    EndBody: {
        "a hand-over": {
            "summary": "The cart test is green again.",
            "next_steps": ["deploy it on Tuesday"],
            "blockers": ["no access to the shop's logs"],
        }
    },
    SendBody: {
        "a question": {"to": "bo", "subject": "the gateway", "content": "Which time-out did you set?"},
        "within an org": {"to": "bo", "content": "The review of the shop is done.", "org": "acme"},
    },
    ReadBody: {"all up to a number": {"up_to": 7}},
    ForgetBody: {"with a reason": {"reason": "the service was retired"}},
    BulkBody: {"a look first": {"project": "shop", "type": "plan", "dry_run": True}},
    ModelChangeBody: {"a look": {"model": "all-minilm", "dry_run": True}},
    ReindexBody: {
        "anew": {"index": "text"},
        "what the index lacks": {"index": "vector", "stale": True},
    },
    VerifyBody: {"a look": {}, "every entry": {"full": True, "repair": True}},
    WorkspaceBody: {"a tenant": {"id": "team-a", "name": "Team A", "max_memories": 100000}},
    KeyBody: {
        "for an agent": {"name": "ada's laptop", "permissions": ["brain.read", "brain.write"], "agent_id": "ada"},
        "for one org, for a day": {
            "name": "contractor",
            "permissions": ["brain.read"],
            "orgs": ["acme"],
            "without_org": False,
            "expires_in": 24,
        },
    },
    ThoughtBody: {
        "a turn of a conversation": {
            "content": "Let us meet at the weir on Friday.",
            "source": "openclaw:main",
            "metadata": {"sessionId": "s-1", "turn": 3, "role": "user", "type": "message"},
        }
    },
    ThoughtBatchBody: {
        "two turns": {
            "thoughts": [
                {"content": "Is the relay up?", "metadata": {"sessionId": "s-1", "turn": 4, "role": "user"}},
                {"content": "Since six.", "metadata": {"sessionId": "s-1", "turn": 5, "role": "assistant"}},
            ]
        }
    },
    ThoughtSearchBody: {
        "of one session": {"query": "where do we meet", "limit": 5, "metadata": {"sessionId": "s-1"}},
    },
    MarkerBody: {
        "a lesson": {
            "type": "lesson",
            "content": "Look at the broker's log first.",
            "attrs": {"source": "shop", "session_id": "s-1"},
        },
        "something burns": {
            "type": "signal",
            "content": "The replica is an hour behind.",
            "attrs": {"source": "db-1", "severity": "critical"},
        },
    },
    InboxBody: {"an idea": {"content": "# Fewer queues\n\nOne is enough.", "tags": ["idea"]}},
    ArtifactBody: {"a runbook": {"key": "runbooks/failover", "content": "Stop the writers first.", "producer": "ci"}},
    SignalBody: {
        "a disk": {
            "source": "db-1",
            "severity": "warning",
            "title": "disk at 97 %",
            "dedup_key": "disk",
            "ttl_s": 86400,
        },
        "an org stops": {
            "source": "shop",
            "severity": "critical",
            "title": "wrong prices are live",
            "halt": True,
            "halt_scope": "org",
            "org": "acme",
        },
    },
    HaltBody: {"everyone stops": {"title": "wrong prices are live", "content": "Nobody deploys."}},
    WebhookBody: {"what is grave": {"url": "https://hooks.example.org/openbrain", "min_severity": "critical"}},
    ReplayBody: {
        "a day for one service, slowly": {
            "stream": "memory.stored",
            "from": "2026-11-21T00:00:00Z",
            "to": "2026-11-22T00:00:00Z",
            "group": "embedder",
            "rate": 500,
        }
    },
    BuryBody: {
        "an entry that ends its consumers": {
            "stream": "memory.stored",
            "group": "embedder",
            "entry": "1795333556767-0",
            "reason": "the model crashes on it",
        }
    },
    PauseBody: {"while the model is moved": {"group": "embedder", "reason": "the model is moved"}},
    ResumeBody: {"at work again": {"group": "embedder"}},
    OutsideBody: {"a warehouse": {"stream": "memory.stored", "group": "warehouse", "at_end": True}},
    DeadReplayBody: {"what the index refused": {"group": "indexer-text", "error": "Refused", "dry_run": False}},
    DeadDiscardBody: {
        "two of them": {
            "letters": ["memory.submitted.ingest.1795333556767-0", "memory.submitted.ingest.1795333556768-0"],
            "reason": "a producer's typo",
            "dry_run": False,
        }
    },
}


def of(body: type[BaseModel]) -> Mapping[str, Mapping[str, object]]:
    """The member `examples` of a body's media type; may be empty."""
    return {name: {"value": value} for name, value in EXAMPLES.get(body, {}).items()}
