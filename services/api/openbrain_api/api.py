"""The resources that handlers use, built once per process from its adapters. Nothing is global."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openbrain.domain.access.visibility import Viewer
from openbrain.domain.signals.values import Halt
from openbrain.ports.clock import Clock
from openbrain.ports.content import ContentPolicy
from openbrain.ports.index import Replaceable
from openbrain.ports.store.generations import IndexKind
from openbrain.ports.store.store import Store
from openbrain.ports.streams import StreamAdmin, Wake
from openbrain.settings import Settings
from openbrain.usecases.auth import Keyring
from openbrain.usecases.backpressure import Pressure
from openbrain.usecases.indexes.embedders import Embedders
from openbrain_api.broadcasts.coalescer import Coalescer
from openbrain_api.broadcasts.hub import Hub
from openbrain_api.broadcasts.inboxes import Inboxes
from openbrain_api.broadcasts.listening_keys import ListeningKeys
from openbrain_api.broadcasts.presence import Presence
from openbrain_api.checks import Checks
from openbrain_api.discovery.engine import Discovery
from openbrain_api.http.authentication import Authenticator
from openbrain_api.http.compression import CachedBody
from openbrain_api.http.rate_limit import RateLimiter
from openbrain_api.memories.chains import Chains
from openbrain_api.memories.committing import Committer
from openbrain_api.memories.session_agents import SessionAgents
from openbrain_api.recall.engine import Recaller
from openbrain_api.recall.hits.past import PastRecaller
from openbrain_api.recall.indexes.active_model import ActiveModel
from openbrain_api.recall.indexes.erasure_watch import ErasureWatch
from openbrain_api.recall.recording import Recorder
from openbrain_api.vaults.arc_meanings import ArcMeanings


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The ports, and the few objects with the lifetime of the app."""

    store: Store
    clock: Clock
    content_policy: ContentPolicy
    wake: Wake
    settings: Settings
    keyring: Keyring
    authenticator: Authenticator
    rate_limiter: RateLimiter
    committer: Committer
    recaller: Recaller
    erasure_watch: ErasureWatch
    past_recaller: PastRecaller
    recorder: Recorder
    discovery: Discovery
    arc_meanings: ArcMeanings
    chains: Chains
    session_agents: SessionAgents
    checks: Checks
    reasoner_checks: Checks | None
    """None without a reasoner: the API itself does not need one."""
    pressure: Pressure
    embedders: Embedders
    active_model: ActiveModel
    indexes: Mapping[IndexKind, Replaceable]
    """For switching and dropping index generations."""
    streams: StreamAdmin
    hub: Hub
    inboxes: Inboxes
    listening: ListeningKeys
    presence: Presence
    halt_acks: Coalescer[tuple[Viewer, str], Halt]
    """Key: a viewer and the id of a halt that it sees. Item: the agent that acknowledges it."""
    document: Callable[[], CachedBody]
    """The OpenAPI document, built at its first request, which takes half a second."""

    async def close(self) -> None:
        """Stop the background work. The container closes the adapters."""
        listened = (self.hub, self.inboxes, self.listening, self.presence)
        for part in (*listened, self.committer, self.recorder, self.active_model, self.arc_meanings):
            await part.close()
