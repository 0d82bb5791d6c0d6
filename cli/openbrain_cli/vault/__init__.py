"""Commands on vaults: pages, feed, ticks."""
