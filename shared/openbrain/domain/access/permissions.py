"""Permissions of a key."""

from enum import StrEnum


class Permission(StrEnum):
    """Permissions of a key."""

    BRAIN_READ = "brain.read"
    BRAIN_WRITE = "brain.write"
    SIGNAL_RAISE = "signal.raise"
    SIGNAL_ACK = "signal.ack"
    VAULT_READ = "vault.read"
    VAULT_WRITE = "vault.write"
    TICK_RUN = "tick.run"
    ADMIN = "admin"
