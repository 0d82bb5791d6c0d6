"""Lifecycle operations: one file a job, and the way that all of them go."""
