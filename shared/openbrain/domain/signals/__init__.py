"""What a signal is, what becomes of it, and what is told of it."""
