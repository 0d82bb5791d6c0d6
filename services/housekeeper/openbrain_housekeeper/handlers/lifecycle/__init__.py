"""Lifecycle operations: one file per job, and the steps common to all of them."""
