"""English words that say nothing by themselves."""

FUNCTION_WORDS = frozenset(
    """a about above after again ain all also am an and any are aren as at be been before being below between both but
    by can could couldn d did didn do does doesn doing don done down during each else few for from had hadn has hasn
    have haven having he her here him his how i if in into is isn it its just ll m may me might more most must my no nor
    not of off on only onto or other our out over own re s same shall she should shouldn so some such t than that the
    their them then there these they this those through to too under up us ve very was wasn we were weren what when
    where which who whom whose why will with would wouldn you your""".split()
)
