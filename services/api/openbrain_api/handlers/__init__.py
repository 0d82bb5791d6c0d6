"""A short function per route."""
