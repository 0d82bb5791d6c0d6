"""Periodic jobs, one per file: each does one round and returns how much it did."""
