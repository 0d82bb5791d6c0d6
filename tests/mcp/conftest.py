"""Fixtures of the tools: the brain that they use."""

from tests.support.api.brain import brain, brain_database_url

__all__ = ["brain", "brain_database_url"]
