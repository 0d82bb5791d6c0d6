"""Signals, their states, and their broadcasts."""
