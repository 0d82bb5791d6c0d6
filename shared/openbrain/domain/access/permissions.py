"""What a key may be allowed."""

from enum import StrEnum


class Permission(StrEnum):
    """What a key may be allowed."""

    BRAIN_READ = "brain.read"
    BRAIN_WRITE = "brain.write"
    SIGNAL_RAISE = "signal.raise"
    SIGNAL_ACK = "signal.ack"
    VAULT_READ = "vault.read"
    VAULT_WRITE = "vault.write"
    TICK_RUN = "tick.run"
    ADMIN = "admin"
