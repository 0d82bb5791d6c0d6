"""Memories: requests and responses of /v1/brain."""
