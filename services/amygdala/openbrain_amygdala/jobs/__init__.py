"""Periodic jobs, one per file: time-based changes of signals, and posts to webhooks."""
