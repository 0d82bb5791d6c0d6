"""Periodic jobs: match queued memories, embed and replay queries, post to webhooks."""
