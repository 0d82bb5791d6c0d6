"""Folders and files to import from: named by a user, or in their default locations."""
