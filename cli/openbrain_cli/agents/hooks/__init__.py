"""Hooks of coding agents. Each event starts a process, so imports are delayed until they are needed."""
