"""Commands on signals, halts and webhooks."""
