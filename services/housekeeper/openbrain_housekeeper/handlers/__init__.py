"""Handlers of operations, one file per kind or resource. Each call does a bounded step."""
