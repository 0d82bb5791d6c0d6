"""Periodic jobs, one per file. Each call does one round and returns how much it did."""
