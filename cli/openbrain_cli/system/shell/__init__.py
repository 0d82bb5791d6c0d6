"""Help with typing commands: completion and suggestions."""
