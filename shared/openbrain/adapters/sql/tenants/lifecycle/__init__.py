"""Lifecycle operations in the database: subjects, changes, undo."""
