"""Settings of signals: how long what takes, and how much a source may say."""

from pydantic import Field

from openbrain.domain.memory import DAY, MICROSECONDS
from openbrain.domain.signals.rules import SignalTimes
from openbrain.settings.groups import Group, Seconds


class Signals(Group):
    """Signals and halts."""

    quiet_s: Seconds = Field(
        900,
        description="Without a raise for so long, a warning's or an acknowledged signal's broadcast severity falls by "
        "one step.",
    )
    resolve_s: Seconds = Field(900, description="Without a raise for so long at the lowest step it is resolved.")
    escalate_s: Seconds = Field(
        86_400, description="After so long a critical or nuclear signal that nobody acknowledged is escalated."
    )
    dedupe_s: Seconds = Field(
        300,
        description="A signal that is raised again, and no worse, is broadcast again after so long at the earliest.",
    )
    source_signals: int = Field(
        60,
        ge=1,
        le=1_000_000,
        description="New signals of a source within `source_window_s`, as strong or stronger, after which the next "
        "become one that counts them.",
    )
    source_window_s: Seconds = Field(60, description="See `source_signals`.")
    tombstone_days: int = Field(14, ge=1, description="So long after its end a signal is told of for the last time.")
    retention_days: int = Field(90, ge=1, description="How long signals that have ended are kept, with their audit.")
    key_days: int = Field(30, ge=1, description="How long a raise is known again by its event id or key.")
    subscriber_days: int = Field(7, ge=1, description="Agents not seen for so long are no longer listed.")
    sweep_every_s: Seconds = Field(1, description="How often what is due by time is looked for.")
    sweep_batch: int = Field(200, ge=1, le=1000, description="Signals that one sweep moves, at most.")

    def times(self) -> SignalTimes:
        """In microseconds, as the rules take them."""
        return SignalTimes(
            quiet=round(self.quiet_s * MICROSECONDS),
            resolve=round(self.resolve_s * MICROSECONDS),
            escalate=round(self.escalate_s * MICROSECONDS),
            dedupe=round(self.dedupe_s * MICROSECONDS),
            source_window=round(self.source_window_s * MICROSECONDS),
            source_signals=self.source_signals,
            tombstone=self.tombstone_days * DAY,
            keys=self.key_days * DAY,
        )
