"""Requests and responses of the REST API, one file a resource; the OpenAPI document is made of these models."""
