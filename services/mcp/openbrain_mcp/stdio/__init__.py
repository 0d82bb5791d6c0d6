"""The tools over stdin and stdout."""
