"""Export and import of whole workspaces."""
