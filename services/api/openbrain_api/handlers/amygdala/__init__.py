"""Handlers of /v1/amygdala."""
