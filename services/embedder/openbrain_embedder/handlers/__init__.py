"""Handlers of `memory.stored` and `memory.reindex`: vectors of memories."""
