"""Time-driven changes of signals, and posts to webhooks: one file per periodic job."""
