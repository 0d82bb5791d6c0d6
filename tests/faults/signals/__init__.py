"""Signals under faults: every subscriber hears every number, and knows at the end what the truth knows."""
