"""What a tick reads before it plans: signals, incidents, probes, transcripts."""
