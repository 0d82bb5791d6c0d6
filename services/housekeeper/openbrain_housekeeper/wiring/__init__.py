"""Wires parts of the service from a container."""
