"""What nobody asks for: memories whose event was lost are matched, and queries get their vectors."""
