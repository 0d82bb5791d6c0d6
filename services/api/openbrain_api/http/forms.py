"""Form bodies of the original's routes: URL-encoded, or multipart with files."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.datastructures import Headers as FormHeaders
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.types import Receive

from openbrain.domain.errors import Invalid
from openbrain_api.http.parsing import Headers, at_most, media_type, unpacked
from openbrain_api.http.response import Refused

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
FILES = 20
FIELDS = 50


@dataclass(frozen=True, slots=True)
class FormFile:
    """One file. `name` comes from the client: never trust it."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """Fields (the last one of each name) and files in their order."""

    fields: dict[str, str]
    files: tuple[FormFile, ...]


def form_body(headers: Headers, receive: Receive, limit: int) -> AsyncIterator[bytes]:
    """The body in parts, at most `limit` bytes decompressed. Raise `Refused` at once if it is not a form."""
    if media_type(headers) not in {URLENCODED, MULTIPART}:
        raise Refused(415, "unsupported_media_type", f"send a form: {MULTIPART} or {URLENCODED}")
    return at_most(limit, unpacked(headers, receive))


async def read_form(headers: Headers, body: AsyncIterator[bytes], limit: int) -> Form:
    """Read the whole form."""
    if media_type(headers) == URLENCODED:
        return Form(_urlencoded(b"".join([part async for part in body])), ())
    raw = FormHeaders(raw=[(name, value) for name, value in headers.items()])
    fields: dict[str, str] = {}
    files: list[FormFile] = []
    try:
        form = await _Parser(raw, body, limit).parse()
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                files.append(FormFile(value.filename or name, await value.read()))
            else:
                fields[name] = value
        await form.close()
    except MultiPartException as error:
        raise Invalid("body", f"is not a readable form: {error.message}") from None
    except (UnicodeDecodeError, KeyError, ValueError):
        raise Invalid("body", "is not a readable form: send UTF-8 and a boundary") from None
    return Form(fields, tuple(files))


class _Parser(MultiPartParser):
    """Refuses a form without its closing boundary, in which the last part would be missing."""

    def __init__(self, headers: FormHeaders, body: AsyncIterator[bytes], limit: int) -> None:
        super().__init__(headers, self._whole(body), max_files=FILES, max_fields=FIELDS, max_part_size=limit)
        self._ended = False

    def on_end(self) -> None:
        self._ended = True

    async def _whole(self, body: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for part in body:
            yield part
        if not self._ended:
            raise MultiPartException("its closing boundary is missing, send it again")


def _urlencoded(raw: bytes) -> dict[str, str]:
    """The fields. Clients also send text as it is, without percent signs (`curl -d`): Starlette's parser takes that for
    Latin-1."""
    try:
        return dict(parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS))
    except ValueError:
        raise Invalid("body", f"is not a readable form: send UTF-8, and at most {FIELDS} fields") from None
