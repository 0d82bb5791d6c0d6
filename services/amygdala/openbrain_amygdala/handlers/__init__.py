"""Handlers of signal events: plain functions of (message, ports)."""
