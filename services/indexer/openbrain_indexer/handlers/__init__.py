"""Handlers of the events that change what an index holds, one file an index."""
