"""The content policy before every write: texts are examined, and stored as they are, changed, or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

NamedText = tuple[str, str]
"""The field of a text, as `metadata.owner`, and the text."""


class Action(StrEnum):
    """Action on a text with findings."""

    OFF = "off"
    MASK = "mask"
    """Replace each finding by its kind."""
    HASH = "hash"
    """A keyed hash stands in its place: the same value has the same one within a workspace."""
    REFUSE = "refuse"
    LABEL = "label"
    """Store the text unchanged and tag the memory."""


@dataclass(frozen=True, slots=True)
class PersonalDataRule:
    """Of one workspace. `key`: of its hashes."""

    action: Action
    key: str = ""


PersonalDataRules = Mapping[str, PersonalDataRule]
"""By workspace; one that is not in it has none."""


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
    """Finds one sort of thing that not everybody may read: secrets, personal data."""

    def start(self) -> None:
        """Begin, in the background, with what has to be loaded."""

    async def ready(self) -> bool:
        """Wait until `find` needs to load nothing. False where it will find less than it should."""

    def find(self, texts: Sequence[NamedText]) -> Sequence[Sequence[Finding]]:
        """For each text, in order and apart. The name of a field may tell what its text is."""


class Admission(Protocol):
    """Looks at what is about to be stored in one workspace."""

    def passes(self, texts: Sequence[NamedText]) -> bool:
        """Whether all are admitted as they are: one look at many, which costs little more than at one. It may say no
        where `admit` would change nothing."""

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Admitted:
        """The texts to store (perhaps masked), or `Invalid`, which names the field, when one must not be stored. Not
        `refusing`: what must not be stored is masked instead."""


class ContentPolicy(Protocol):
    """Rules for secrets and personal data: of the settings, and of each workspace."""

    def start(self) -> None:
        """Begin, in the background, with what has to be loaded. For processes that write, when they start."""

    async def ready(self) -> None:
        """Wait until `of` knows what it needs to; `TryLater` where texts can't be looked at."""

    def of(self, workspace_id: str) -> Admission:
        """Of one workspace, as known since the last `ready`."""
