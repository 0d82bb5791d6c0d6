"""Files of exports: written so that a cut one goes on, read so that a cut one is noticed."""
