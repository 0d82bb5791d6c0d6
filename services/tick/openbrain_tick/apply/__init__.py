"""Carries out a plan: writes files as the vault's only writer, resolves signals, stores memories."""
