"""Fixtures of the context engine on the real host: the brain behind it."""

from tests.support.api.brain import brain, brain_database_url

__all__ = ["brain", "brain_database_url"]
