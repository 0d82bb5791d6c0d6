"""The service for signals: alarms that every agent receives."""
