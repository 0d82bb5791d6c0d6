"""Handlers of the vault."""
