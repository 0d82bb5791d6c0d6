"""Clients of agents on this machine: connected to an OpenBrain, and heard through their hooks."""
