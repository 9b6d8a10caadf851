"""axe-core, which finds what keeps people from using a page; fetched once and kept under out/."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from pathlib import Path
from urllib.request import urlopen

VERSION = "4.14.0"
SHA512 = "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
ADDRESS = f"https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz"
KEPT = Path(__file__).parents[2] / "out" / f"axe-core-{VERSION}.tgz"


def axe_script() -> str:
    """The script of axe-core; OSError if it is not kept here and cannot be fetched."""
    if not KEPT.exists():
        with urlopen(ADDRESS, timeout=20) as answer:
            content = answer.read()
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_bytes(content)
    content = KEPT.read_bytes()
    found = base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != SHA512:
        KEPT.unlink()
        raise AssertionError(f"{ADDRESS} is not what it was: {found}")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()
