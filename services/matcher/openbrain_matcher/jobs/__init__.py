"""Periodic jobs: memories whose event was lost are matched, and queries get their vectors."""
