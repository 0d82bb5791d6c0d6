"""Finds secrets and personal data in texts to be stored, and masks, hashes, refuses or labels them."""

import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from openbrain.domain.caches import Fresh
from openbrain.domain.errors import Invalid, TryLater
from openbrain.domain.memory import MICROSECONDS
from openbrain.ports.clock import Clock
from openbrain.ports.content import Action, Admission, Admitted, Detector, Finding, NamedText, PersonalDataRules

LABEL: Final = "personal-data"
"""The tag of memories with personal data, if the workspace only labels them."""
FRESH: Final = MICROSECONDS
"""A workspace's rule may be outdated in a process for this long."""
_NO_KEYS: Final = "contains a secret ({}): store where it is kept, not its value"
_NO_PERSONAL_DATA: Final = "contains personal data ({}), which this workspace does not store: leave it out"
_HASH_CHARS: Final = 12
_SPELLING: Final = re.compile(r"[\s().\-/]+")


@dataclass(frozen=True, slots=True)
class Step:
    """A detector and the action on its findings."""

    detector: Detector
    action: Action
    refusal: str
    """The message of a refusal; `{}` is replaced by the kinds found."""
    key: str = ""

    def admit(self, texts: Sequence[NamedText], *, refusing: bool) -> Admitted:
        findings = self.detector.find(texts)
        if not any(findings):
            return Admitted([text for _, text in texts])
        if self.action is Action.LABEL:
            return Admitted([text for _, text in texts], (LABEL,))
        if self.action is Action.REFUSE and refusing:
            field, own = next((field, own) for (field, _), own in zip(texts, findings, strict=True) if own)
            raise Invalid(field, self.refusal.format(", ".join(dict.fromkeys(item.kind for item in own))))
        stands_for = self._hash if self.action is Action.HASH else _mask
        return Admitted([replaced(text, own, stands_for) for (_, text), own in zip(texts, findings, strict=True)])

    def _hash(self, kind: str, value: str) -> str:
        spelled = _SPELLING.sub("", value).casefold()
        digest = hmac.new(self.key.encode(), f"{kind} {spelled}".encode(), hashlib.sha256).hexdigest()
        return f"[{kind}: {digest[:_HASH_CHARS]}]"


@dataclass(frozen=True, slots=True)
class Steps:
    """`Admission` that applies several detectors in sequence."""

    steps: Sequence[Step]

    def passes(self, texts: Sequence[NamedText]) -> bool:
        return not any(any(step.detector.find(texts)) for step in self.steps)

    def admit(self, texts: Sequence[NamedText], *, refusing: bool = True) -> Admitted:
        admitted = Admitted([text for _, text in texts])
        for step in self.steps:
            named = [(field, text) for (field, _), text in zip(texts, admitted.texts, strict=True)]
            after = step.admit(named, refusing=refusing)
            admitted = Admitted(after.texts, admitted.tags + after.tags)
        return admitted


class DetectingPolicy:
    """`ContentPolicy` from the settings for secrets and each workspace's rule for personal data. Without detectors
    every text passes unchanged."""

    def __init__(
        self,
        secrets: Detector | None = None,
        personal: Detector | None = None,
        *,
        refuse_secrets: bool = False,
        rules: Callable[[], Awaitable[PersonalDataRules]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        action = Action.REFUSE if refuse_secrets else Action.MASK
        self._secrets = () if secrets is None else (Step(secrets, action, _NO_KEYS),)
        self._personal, self._read_rules = personal, rules
        self._now = int if clock is None else clock.now
        self._rules = Fresh[PersonalDataRules](self._now, FRESH)
        self._detectors_ready = False

    def start(self) -> None:
        """Load the detection rules in a thread."""
        for step in self._secrets:
            step.detector.start()

    async def ready(self) -> None:
        """Wait for the rules. If secrets must be refused but their rules can't be loaded, raise `TryLater`."""
        if not self._detectors_ready:
            await self._detectors()
        if self._read_rules is not None and not self._rules.fresh:
            now = self._now()
            self._rules.set(await self._read_rules(), now)

    async def _detectors(self) -> None:
        for step in self._secrets:
            if not await step.detector.ready() and step.action is Action.REFUSE:
                raise TryLater(
                    "secrets can't be detected, because the rules could not be loaded: the log says why "
                    "(secrets.rules_not_loaded); OPENBRAIN_SECRETS__POLICY=mask works without them"
                )
        self._detectors_ready = True

    def of(self, workspace_id: str) -> Admission:
        rule = (self._rules.value or {}).get(workspace_id)
        if rule is None or self._personal is None:
            return Steps(self._secrets)
        return Steps((*self._secrets, Step(self._personal, rule.action, _NO_PERSONAL_DATA, rule.key)))


def stripping(detector: Detector, action: Action, key: str = "") -> Admission:
    """Masking of all findings of a detector, independent of the policy for writes."""
    return Steps((Step(detector, action, "", key),))


def replaced(text: str, findings: Sequence[Finding], stands_for: Callable[[str, str], str]) -> str:
    """Return the text with each finding replaced, given its kind and value."""
    parts, at = [], 0
    for finding in findings:
        parts += [text[at : finding.start], stands_for(finding.kind, text[finding.start : finding.end])]
        at = finding.end
    return "".join([*parts, text[at:]])


def _mask(kind: str, value: str) -> str:  # noqa: ARG001 - nothing of it is left
    return f"[redacted: {kind}]"
