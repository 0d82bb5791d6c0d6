"""An upper estimate of a text's tokens, for a budget that must hold for any model.

Uses no tokenizer, because each model has its own. Letters count one token per started four, digits one per started two,
other visible ASCII characters one each, a run of line ends one, and others their UTF-8 bytes minus one. For English
prose this is about 50 % more than current byte pair encodings give; for ids and code slightly more.
"""

import re

_ASCII_TOKEN = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,2}|\n+|[!-~]")


def estimated_tokens(text: str) -> int:
    """An upper estimate; 0 for the empty text."""
    beyond_ascii = len(text.encode("utf-8", "replace")) - len(text)
    return len(_ASCII_TOKEN.findall(text)) + beyond_ascii


FUNCTION_WORDS = frozenset(
    """a about above after again ain all also am an and any are aren as at be been before being below between both but
    by can could couldn d did didn do does doesn doing don done down during each else few for from had hadn has hasn
    have haven having he her here him his how i if in into is isn it its just ll m may me might more most must my no nor
    not of off on only onto or other our out over own re s same shall she should shouldn so some such t than that the
    their them then there these they this those through to too under up us ve very was wasn we were weren what when
    where which who whom whose why will with would wouldn you your""".split()
)
