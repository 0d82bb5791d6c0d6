"""What was written is looked for on the disk."""
