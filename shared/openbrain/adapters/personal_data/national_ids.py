"""Finds national ids: by the name before the number, and by its check digits.

Check digits are verified by python-stdnum. A number without a name is no finding even if its check digits match: those
of a row count may match too. Only a few formats are so distinctive that they need no name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from stdnum import get_cc_module

_NAMED: Final[Mapping[str, Sequence[str]]] = {
    "social security( number)?|ssn|itin": ("us.ssn", "us.itin"),
    "nhs( number)?": ("gb.nhs",),
    "steuer[ -]?id(entifikationsnummer|nr)?|idnr|steuernummer": ("de.idnr", "de.stnr"),
    "dni|nif|nie": ("es.dni", "es.nie", "pt.nif"),
    "codice fiscale|cf": ("it.codicefiscale",),
    "personnummer|samordningsnummer": ("se.personnummer",),
    "cpr": ("dk.cpr",),
    "henkilötunnus|hetu": ("fi.hetu",),
    "fødselsnummer|fodselsnummer": ("no.fodselsnummer",),
    "kennitala": ("is.kennitala",),
    "bsn|burgerservicenummer": ("nl.bsn",),
    "rijksregister(nummer)?|registre national": ("be.nn",),
    "nir|insee|numéro de sécurité sociale|sécurité sociale": ("fr.nir",),
    "pesel": ("pl.pesel",),
    "rodné číslo|rodne cislo": ("cz.rc",),
    "cnp": ("ro.cnp",),
    "ahv|avs|svnr": ("ch.ssn", "at.vnr"),
    "pps(n| number)?": ("ie.pps",),
    "cpf": ("br.cpf",),
    "cuil|dni": ("ar.cuit", "ar.dni"),
    "curp": ("mx.curp",),
    "rut": ("cl.rut",),
    "sin|social insurance( number)?": ("ca.sin",),
    "tfn|tax file number": ("au.tfn",),
    "aadhaar|aadhar": ("in.aadhaar",),
    "pan": ("in.pan",),
    "rrn": ("kr.rrn",),
    "身份证(号码?)?|resident identity( card)?( number)?": ("cn.ric",),
    "tckn|tc kimlik( no)?": ("tr.tckimlik",),
    "teudat zehut": ("il.idnr",),
    "tax id|tin|national id": ("de.idnr", "us.itin", "za.idnr", "pt.nif", "za.tin"),
}
_OFFICES: Final = tuple((re.compile(name, re.IGNORECASE), numbers) for name, numbers in _NAMED.items())
_NAME = re.compile(
    rf"(?<![^\W_])(?P<name>{'|'.join(_NAMED)})(?:[ _-]?(?:number|nummer|no|nr|id))?(?![^\W_])"
    r"""["']?(?:\s{0,3}(?:[:=#]|is|ist|was|of|no\.|nr\.|n°)){0,2}\s{0,3}["']?"""
    r"(?P<value>[0-9A-Z](?:[ ./-]?[0-9A-Z]){6,21})",
    re.IGNORECASE,
)
_US_FORM = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_END = re.compile(r"(?<=[0-9A-Za-z])(?![0-9A-Za-z])")
_UNLIKE: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (re.compile(r"(?<![\w.-])\d{3}-\d{2}-\d{4}(?![\w-]|\.\d)"), "us.ssn"),
    (re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])"), "br.cpf"),
    (re.compile(r"(?<![\w-])[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z](?![\w-])"), "it.codicefiscale"),
    (re.compile(r"(?<![\w-])[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]\d(?![\w-])"), "mx.curp"),
)


def national_ids(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each id, such as `national-id-de`, with its start and end."""
    for form, number in _UNLIKE:
        for match in form.finditer(text):
            if _adds_up(number, match[0]):
                yield _kind(number), *match.span()
    for match in _NAME.finditer(text):
        numbers = next(numbers for office, numbers in _OFFICES if office.fullmatch(match["name"]))
        if (accepted := _accepted(match["value"], numbers)) is not None:
            number, length = accepted
            start = match.start("value")
            yield _kind(number), start, start + length


def _accepted(value: str, numbers: Sequence[str]) -> tuple[str, int] | None:
    """Return the kind of number and its length: the longest part up to a word's end with valid check digits."""
    for end in sorted((item.start() for item in _END.finditer(value)), reverse=True):
        part = value[:end]
        for number in numbers:
            # After its name, a US number counts even if its range was never issued.
            if _adds_up(number, part) or (number == "us.ssn" and _US_FORM.fullmatch(part)):
                return number, end
    return None


def _kind(number: str) -> str:
    return f"national-id-{number.partition('.')[0]}"


def _adds_up(number: str, value: str) -> bool:
    try:
        return bool(_module(number).is_valid(value))
    except KeyError:  # cn.ric: check digit and date are right, but the library does not list the county
        return True


@cache
def _module(number: str) -> Any:
    country, _, name = number.partition(".")
    return get_cc_module(country, name)
