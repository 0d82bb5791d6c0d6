"""Input of a tick's plan: signals, incidents, probes, transcripts."""
