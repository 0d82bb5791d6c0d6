"""Every stream of the system: name, data, readers. Declarations, documents and deployments are generated from here."""

from collections.abc import Iterable
from dataclasses import dataclass

from openbrain.domain.events import data as events
from openbrain.domain.events.envelope import event_type
from openbrain.domain.events.submission import MemorySubmitted
from openbrain.domain.events.versions import Decode, Older, decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """One stream. Names are without the settings' prefix."""

    name: str
    data: type[events.EventData]
    published_by: str
    groups: tuple[str, ...] = ()
    per_workspace: bool = False
    """True if `<name>.<workspace>` exists too (for broadcast: instead)."""
    from_outside: bool = False
    """True if others than our services append to it. Entries that can't be processed are rejected one by one and don't
    indicate a faulty reader."""
    foreign: bool = False
    """True if it belongs to another system: its name gets no prefix, and its entries are plain fields."""
    about: str = ""
    version: int = 1
    """The newest version of `data` that readers know."""
    older: tuple[Older, ...] = ()
    """Older versions that are still read."""

    @property
    def type(self) -> str:
        """The CloudEvents type of the newest version."""
        return event_type(self.name, self.version)

    @property
    def address(self) -> str:
        """The stream's name, with a placeholder if there is one per workspace."""
        return f"{self.name}.{{workspace}}" if self.per_workspace and not self.from_outside else self.name

    def decoder(self) -> Decode:
        """Return a reader for events of any known version."""
        return decoder(self.name, self.data, version=self.version, older=self.older)


SUBMITTED = StreamSpec(
    name="memory.submitted",
    data=MemorySubmitted,
    published_by="producers",
    groups=("ingest",),
    per_workspace=True,
    from_outside=True,
    about="A memory to remember: what POST /v1/brain/remember takes, plus workspace_id and agent_id.",
)
STORED = StreamSpec(
    name="memory.stored",
    data=events.MemoryStored,
    published_by="the outbox",
    groups=("embedder", "indexer-text"),
    about="A memory was created or changed; also the acknowledgement of a submission (causationid).",
)
EMBEDDED = StreamSpec(
    name="memory.embedded",
    data=events.MemoryEmbedded,
    published_by="the outbox",
    groups=("indexer-vector", "matcher"),
    about="The vectors of a revision are stored.",
)
SUPERSEDED = StreamSpec(
    name="memory.superseded",
    data=events.MemorySuperseded,
    published_by="the outbox",
    groups=("indexer-text", "indexer-vector"),
    about="A memory is no longer recallable.",
)
REINDEX = StreamSpec(
    name="memory.reindex",
    data=events.MemoryReindex,
    published_by="housekeeper, operators",
    groups=("embedder", "indexer-text", "indexer-vector"),
    about="Index a memory again, at low priority: read when the live streams are empty.",
)
RECALLED = StreamSpec(
    name="memory.recalled",
    data=events.MemoryRecalled,
    published_by="api",
    about="A recall was answered; for analytics.",
)
TICK_REQUESTED = StreamSpec(
    name="tick.requested",
    data=events.TickRequested,
    published_by="housekeeper, CLI, API",
    groups=("tick",),
    from_outside=True,
    about="Run the vault's phases for a slot.",
)
TICK_COMPLETED = StreamSpec(
    name="tick.completed", data=events.TickCompleted, published_by="tick", about="A tick's report."
)
SIGNAL_RAISED = StreamSpec(
    name="signal.raised",
    data=events.SignalRaised,
    published_by="anyone with permission",
    groups=("amygdala",),
    per_workspace=True,
    from_outside=True,
    about="Something is wrong.",
)
SIGNAL_ACKNOWLEDGED = StreamSpec(
    name="signal.acknowledged",
    data=events.SignalAcknowledged,
    published_by="agents without HTTP",
    groups=("amygdala",),
    per_workspace=True,
    from_outside=True,
    about="A signal was acknowledged or resolved, a halt was obeyed, or an agent reports that it listens.",
)
BROADCAST = StreamSpec(
    name="amygdala.broadcast",
    data=events.Broadcast,
    published_by="the outbox",
    per_workspace=True,
    about="Signals for every agent of a workspace, each with its own cursor; entry ids are <seq>-0.",
)
REINDEX_COMPLETED = StreamSpec(
    name="reindex.completed", data=events.ReindexCompleted, published_by="the outbox", about="A reindex ended."
)
LIFECYCLE_COMPLETED = StreamSpec(
    name="lifecycle.completed",
    data=events.LifecycleCompleted,
    published_by="the outbox",
    about="A lifecycle operation ended; not published for dry runs.",
)
SESSION_STARTED = StreamSpec(
    name="agent.session_started",
    data=events.AgentSessionStarted,
    published_by="the outbox",
    about="An agent opened a session.",
)

STREAMS: tuple[StreamSpec, ...] = (
    SUBMITTED,
    STORED,
    EMBEDDED,
    SUPERSEDED,
    REINDEX,
    RECALLED,
    TICK_REQUESTED,
    TICK_COMPLETED,
    SIGNAL_RAISED,
    SIGNAL_ACKNOWLEDGED,
    BROADCAST,
    REINDEX_COMPLETED,
    LIFECYCLE_COMPLETED,
    SESSION_STARTED,
)


def dead_letters(stream: str, group: str) -> str:
    """The dead-letter stream of a stream (with its prefix) and a group."""
    return f"{stream}.{group}.dead"


def replays(stream: str, group: str) -> str:
    """The stream (with its prefix) that redelivers earlier entries to a group."""
    return f"{stream}.{group}.replay"


GROUPS: tuple[str, ...] = tuple(dict.fromkeys(group for spec in STREAMS for group in spec.groups))
"""All consumer groups of services."""


def every_stream(bound_workspaces: Iterable[str] = ()) -> dict[str, StreamSpec]:
    """Every stream by its name without the prefix, including those of bound workspaces."""
    streams: dict[str, StreamSpec] = {}
    for spec in STREAMS:
        names = [spec.name, *(f"{spec.name}.{workspace}" for workspace in bound_workspaces if spec.per_workspace)]
        streams.update(dict.fromkeys(names, spec))
    return streams
