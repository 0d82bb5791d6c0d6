"""A question and memories compared word by word: for the rank, and as a number by itself."""
