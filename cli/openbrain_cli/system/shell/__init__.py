"""What helps a person type commands: completion and suggestions."""
