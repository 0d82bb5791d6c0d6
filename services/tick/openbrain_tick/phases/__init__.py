"""The steps of a tick: plain functions of (vault, settings, time)."""
