"""What a model adds to a tick: asked once, each item of its answer judged, what is accepted planned and verified."""
