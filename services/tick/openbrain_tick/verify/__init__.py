"""Verification: written items are looked for on the disk."""
