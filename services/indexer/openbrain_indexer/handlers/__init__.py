"""Handlers of the events that change an index, one file per index."""
