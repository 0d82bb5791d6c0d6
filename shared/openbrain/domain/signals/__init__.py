"""Signals, their states, and what is broadcast of them."""
