"""Hooks of coding agents: a process for every event, so that nothing is imported here that is not needed at once."""
