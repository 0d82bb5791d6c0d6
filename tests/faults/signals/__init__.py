"""Signals under faults: every subscriber receives every number, and its final state equals the database's."""
