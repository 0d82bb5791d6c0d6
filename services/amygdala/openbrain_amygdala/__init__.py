"""The service of signals: alarms that reach every agent."""
