"""The room that keeps the vault."""
