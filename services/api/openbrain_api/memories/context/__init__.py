"""What an agent reads when it wakes up: gathered, fitted into a budget, written between marks."""
