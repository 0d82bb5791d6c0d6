"""Verification: checks that written items are on the disk."""
