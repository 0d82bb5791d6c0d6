"""The model's part of a tick: it is asked once; each item of its answer is judged, and accepted ones are planned."""
