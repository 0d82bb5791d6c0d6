"""Signals: requests and responses of /v1/amygdala."""
