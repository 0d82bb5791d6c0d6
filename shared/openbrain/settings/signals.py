"""Settings of signals: times, and limits of sources."""

from pydantic import Field

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.rules import SignalTimes
from openbrain.settings.groups import Group, Seconds
from openbrain.settings.tuning import SignalTuning


class Signals(Group):
    """Signals and halts."""

    quiet_s: Seconds = Field(
        900,
        description="If not raised for this long, the broadcast severity of a warning or an acknowledged signal falls "
        "by one step.",
    )
    resolve_s: Seconds = Field(900, description="If not raised for this long at the lowest step, it is resolved.")
    escalate_s: Seconds = Field(
        86_400, description="A critical or nuclear signal that nobody acknowledges for this long is escalated."
    )
    retention_days: int = Field(90, ge=1, description="How long signals that have ended are kept, with their audit.")
    tuning: SignalTuning = SignalTuning()

    def times(self) -> SignalTimes:
        """Return the times in microseconds, for the rules."""
        return SignalTimes(
            quiet=round(self.quiet_s * MICROSECONDS),
            resolve=round(self.resolve_s * MICROSECONDS),
            escalate=round(self.escalate_s * MICROSECONDS),
            dedupe=round(self.tuning.dedupe_s * MICROSECONDS),
            source_window=round(self.tuning.source_window_s * MICROSECONDS),
            source_signals=self.tuning.source_signals,
            tombstone=self.tuning.tombstone_days * DAY,
            keys=self.tuning.key_days * DAY,
        )
