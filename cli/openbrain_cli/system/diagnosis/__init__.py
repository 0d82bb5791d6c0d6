"""What `openbrain doctor` looks at, each check in a file of its own, and what it says."""
