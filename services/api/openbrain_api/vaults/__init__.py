"""Reading and writing the vault of a workspace."""
