"""Handlers of operations, one file per kind or resource: each call does a bounded step."""
