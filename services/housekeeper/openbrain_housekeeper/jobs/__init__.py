"""Periodic jobs, one a file: each does one round and returns how much it did."""
