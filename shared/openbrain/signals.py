"""Signals: something burns."""
