"""The service of signals: what burns, heard by every agent."""
