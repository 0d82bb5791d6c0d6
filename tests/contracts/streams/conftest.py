"""Fixtures of streams: the servers, and operators' views and actions."""

from tests.support.streams.absence import one_outage
from tests.support.streams.views import admin, redis, settings, url, work

__all__ = ["admin", "one_outage", "redis", "settings", "url", "work"]
