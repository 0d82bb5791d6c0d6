"""Fixtures of streams: what operators see of them, and do to them."""

from tests.support.streams.views import admin, redis, settings, work

__all__ = ["admin", "redis", "settings", "work"]
