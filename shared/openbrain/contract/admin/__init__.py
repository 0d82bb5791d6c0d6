"""Requests and responses of /v1/admin."""
