"""Changes of signals by time, and posts to webhooks: one file a periodic job."""
