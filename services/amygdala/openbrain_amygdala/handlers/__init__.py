"""What becomes of a signal's events: plain functions of (message, ports)."""
