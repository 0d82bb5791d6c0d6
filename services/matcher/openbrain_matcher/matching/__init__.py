"""The standing queries of a workspace, ready to be compared with a memory."""
