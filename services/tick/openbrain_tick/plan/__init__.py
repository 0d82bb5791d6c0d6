"""What a tick is about to do: pure phases that edit a plan, one after the other. Nothing is written."""
