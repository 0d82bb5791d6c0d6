"""Two indexes asked, one answer put together."""
