"""The service that keeps the vault."""
