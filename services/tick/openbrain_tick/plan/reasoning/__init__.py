"""The model's part of a tick: asked once, each item of its answer judged, what is accepted planned and verified."""
