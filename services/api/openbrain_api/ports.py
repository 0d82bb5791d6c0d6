"""What handlers may reach: handed in whole by the builder, nothing is global."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openbrain.domain.signals.values import Halt
from openbrain.domain.visibility import Viewer
from openbrain.ports.clock import Clock
from openbrain.ports.content_policy import WriteGate
from openbrain.ports.generations import IndexKind
from openbrain.ports.index import Replaceable
from openbrain.ports.store import Truth
from openbrain.ports.streams import StreamAdmin
from openbrain.ports.wake import Wake
from openbrain.settings import Settings
from openbrain.usecases.auth import Keyring
from openbrain.usecases.backpressure import Pressure
from openbrain.usecases.embedders import Embedders
from openbrain_api.broadcasts.hub import Hub
from openbrain_api.broadcasts.keys import ListeningKeys
from openbrain_api.broadcasts.presence import Presence
from openbrain_api.broadcasts.together import Together
from openbrain_api.chains import Chains
from openbrain_api.checks import Checks
from openbrain_api.discovery.engine import Discovery
from openbrain_api.http.admission import Admission
from openbrain_api.http.door import Door
from openbrain_api.http.packing import Finished
from openbrain_api.recall.engine import Recaller
from openbrain_api.recall.recording import Recorder
from openbrain_api.writing.committing import Committer


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The ports and the few things that live as long as the app."""

    truth: Truth
    clock: Clock
    gate: WriteGate
    wake: Wake
    settings: Settings
    keyring: Keyring
    door: Door
    committer: Committer
    recaller: Recaller
    discovery: Discovery
    recorder: Recorder
    chains: Chains
    checks: Checks
    mind: Checks
    """Of the reasoner, which the API itself does not need."""
    admission: Admission
    pressure: Pressure
    embedders: Embedders
    indexes: Mapping[IndexKind, Replaceable]
    """To change which of their generations there are."""
    streams: StreamAdmin
    hub: Hub
    listening: ListeningKeys
    presence: Presence
    stopped: Together[tuple[Viewer, str], Halt]
    """Acknowledges the halt of that id, seen with those eyes, for an agent."""
    document: Callable[[], Finished]
    """The OpenAPI document, made upon the first question, which takes half a second."""
