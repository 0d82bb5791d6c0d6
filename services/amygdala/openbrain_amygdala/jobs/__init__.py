"""What time does to signals, and posts to webhooks: one file a periodic job."""
