"""Code points by properties missing in Python's `unicodedata`, from the Unicode Character Database 17.0, in
hexadecimal."""

from collections.abc import Iterable, Iterator
from typing import Final

CONTROL: Final = "0-8 B-1F 7F-9F 2028-2029 D800-DFFF"
"""Categories Cc, Cs, Zl and Zp, without tab and line feed."""

DEFAULT_IGNORABLE: Final = (
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8 "
    "1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt: not rendered. Includes unassigned code points."""

FORMAT: Final = "FFF9-FFFB 13430-1343F"
"""The rest of category Cf, except signs that precede digits, which are visible."""

BLANK: Final = "2800 13441-13442 16FE4 1D159"
"""Letters and symbols by category that render blank but are not ignorable."""

IDEOGRAPH: Final = "3005-3007 3040-309F 3400-4DBF 4E00-9FFF F900-FAFF 20000-3FFFF"
"""Scripts written without spaces, in which the text indexes take each character as a word of its own, as Unicode's word
boundaries do. Changing it requires a new builder of the text indexes."""

EMOJI: Final = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 "
    "25C0 25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 "
    "2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 "
    "26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD "
    "2702 2705 2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 "
    "2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F0CF "
    "1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F202 1F21A 1F22F 1F232-1F23A 1F250-1F251 1F300-1F321 "
    "1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F3FA 1F400-1F4FD 1F4FF-1F53D 1F549-1F54E "
    "1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC "
    "1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 "
    "1F6D5-1F6D8 1F6DC-1F6E5 1F6E9 1F6EB-1F6EC 1F6F0 1F6F3-1F6FC 1F7E0-1F7EB 1F7F0 1F90C-1F93A 1F93C-1F945 "
    "1F947-1F9FF 1FA70-1FA7C 1FA80-1FA8A 1FA8E-1FAC6 1FAC8 1FACD-1FADC 1FADF-1FAEA 1FAEF-1FAF8"
)
"""Emoji of emoji-data.txt, without # * and digits, which are text, and without skin tones and flag letters."""


def character_class(*tables: str) -> str:
    """The ranges in the syntax of a regular expression's character class."""
    return "".join(f"{_written(low)}-{_written(high)}" for low, high in _ranges(tables))


def coarse_class(*tables: str) -> str:
    """The ranges, extended by the gaps between them beyond the first plane: many ranges there make a search slow."""
    exact = list(_ranges(tables))
    planes = {low >> 16: (low, high) for low, high in exact if low > 0xFFFF}
    for low, high in exact:
        if low > 0xFFFF:
            lowest, highest = planes[low >> 16]
            planes[low >> 16] = min(low, lowest), max(high, highest)
    ranges = [*(item for item in exact if item[0] <= 0xFFFF), *planes.values()]
    return "".join(f"{_written(low)}-{_written(high)}" for low, high in ranges)


def _ranges(tables: Iterable[str]) -> Iterator[tuple[int, int]]:
    for edges in (part.split("-") for table in tables for part in table.split()):
        yield int(edges[0], 16), int(edges[-1], 16)


def _written(code: int) -> str:
    return f"\\U{code:08x}"
