"""Lifecycle operations: one file per job, and their common steps (`job.py`)."""
