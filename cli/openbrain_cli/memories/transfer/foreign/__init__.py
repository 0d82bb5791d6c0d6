"""Converts tables of other memory stores to the lines of an export."""
