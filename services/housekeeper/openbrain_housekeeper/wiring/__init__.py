"""Wiring of the service's parts from a container."""
