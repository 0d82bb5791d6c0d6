"""Agents' clients on this machine: connecting them to an OpenBrain, and handling their hooks."""
