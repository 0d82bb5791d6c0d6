"""The content policy applied before every write: a text is stored unchanged, stored changed, or refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

NamedText = tuple[str, str]
"""The name of the field (such as `metadata.owner`) and its text."""


class Action(StrEnum):
    """What to do with a text that has findings."""

    OFF = "off"
    MASK = "mask"
    """Replace each finding by its kind."""
    HASH = "hash"
    """Replace each finding by a keyed hash. Equal values have equal hashes within a workspace."""
    REFUSE = "refuse"
    LABEL = "label"
    """Store the text unchanged and tag the memory."""


@dataclass(frozen=True, slots=True)
class PersonalDataRule:
    """The rule of one workspace. `key`: the key of its hashes."""

    action: Action
    key: str = ""


PersonalDataRules = Mapping[str, PersonalDataRule]
"""Rules by workspace; a workspace without a rule is absent."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Kind of a finding and its range in the text, in characters."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Admitted:
    """The texts to store, and tags that say what is in them."""

    texts: Sequence[str]
    tags: tuple[str, ...] = ()


class Detector(Protocol):
    """Finds one sort of sensitive content: secrets or personal data."""

    def start(self) -> None:
        """Start loading what the detector needs, in the background."""

    async def ready(self) -> bool:
        """Wait until `find` has nothing left to load. False if it will find less than it should."""

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        """Return the findings of each text, in order; texts are independent. A field's name may hint at what its text
        is."""


class Admission(Protocol):
    """Checks texts that are about to be stored in one workspace."""

    def passes(self, texts: Sequence[NamedText]) -> bool:
        """True if all texts are admitted unchanged. Checks many texts at little more than the cost of one. May return
        False although `admit` would change nothing."""

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Admitted:
        """Return the texts to store, perhaps masked. Raise `Invalid`, naming the field, if a text must not be stored;
        with `refusing=False` mask it instead."""


class ContentPolicy(Protocol):
    """Rules for secrets and personal data, from the settings and from each workspace."""

    def start(self) -> None:
        """Start loading in the background. Called by processes that write, when they start."""

    async def ready(self) -> None:
        """Wait until `of` has all it needs. Raise `TryLater` if texts can't be checked."""

    def of(self, workspace_id: str) -> Admission:
        """Return the check for one workspace, as known since the last `ready`."""
