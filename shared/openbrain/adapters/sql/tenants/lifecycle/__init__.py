"""Lifecycle operations in the database: subjects, changes, the way back."""
