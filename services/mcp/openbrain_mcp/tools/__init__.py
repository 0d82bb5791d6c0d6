"""The tools that agents call, and the text they answer with."""
