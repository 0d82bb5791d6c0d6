"""Fixtures of streams, for operators' views and actions."""

from tests.support.streams.absence import one_outage
from tests.support.streams.views import admin, redis, settings, work

__all__ = ["admin", "one_outage", "redis", "settings", "work"]
