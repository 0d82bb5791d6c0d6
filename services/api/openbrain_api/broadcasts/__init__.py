"""Broadcasts over HTTP: each process reads a workspace's stream once and fans it out in memory."""
