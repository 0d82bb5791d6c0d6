"""The context of an agent that wakes up: gathered, fitted into a budget, written between marks."""
