"""Handlers of events about signals: plain functions of (message, ports)."""
