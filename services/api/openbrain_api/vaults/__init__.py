"""The vault of a workspace, as the API reads and writes it."""
