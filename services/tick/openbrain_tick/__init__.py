"""The service that maintains the vaults."""
