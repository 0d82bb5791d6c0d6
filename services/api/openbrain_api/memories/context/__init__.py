"""The context of a starting agent: gathered, fitted into a budget, written as text between marks."""
