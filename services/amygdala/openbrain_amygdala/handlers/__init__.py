"""Handlers of a signal's events: plain functions of (message, ports)."""
