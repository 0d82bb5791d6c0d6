"""OpenBrain: shared memory and nervous system for a fleet of AI agents."""

__version__ = "0.1.0"
