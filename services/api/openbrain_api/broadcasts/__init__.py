"""Broadcasts over HTTP: each workspace's stream is read once a process and fanned out in memory."""
