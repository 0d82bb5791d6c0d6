"""Commits of all requests together, and waiting for the indexes behind them."""
