"""Requests and responses of the vault's routes."""
