"""The room of signals: what burns, heard by every agent."""
