"""Chromium without a window, driven through its DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
PATIENCE = 60  # seconds
# Chromium reads commands from file 3 and writes answers to file 4.
_LAUNCH = """
import os, sys
read, write = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))
read, write = os.dup2(read, 100), os.dup2(write, 101)
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Browser:
    """One window with one page. Whatever the page asks for and complains about is kept.

    Attributes
    ----------
    requests : addresses that the page asked for
    complaints : errors and warnings of the console, and exceptions
    """

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        commands_read, self._commands = os.pipe()
        self._answers, answers_write = os.pipe()
        launch = [sys.executable, "-c", _LAUNCH, str(commands_read), str(answers_write)]
        self._process = subprocess.Popen(  # noqa: S603
            [*launch, PROGRAM, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(commands_read, answers_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_read)
        os.close(answers_write)
        self._number, self._rest, self._session = 0, b"", ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = False
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._commands, content) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def open(self, file: Path, *, width: int = 1100, dark: bool = False) -> None:
        """Load a file in a window of some width, and wait until it is shown."""
        self.requests, self.complaints, self._loaded = [], [], False
        narrow = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                 deviceScaleFactor=1, mobile=narrow)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=file.as_uri())
        while not self._loaded:
            self._next()

    def run(self, script: str) -> Any:
        """Run JavaScript in the page, and return its value."""
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise AssertionError(str(found["exceptionDetails"])[:2_000])
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, such as Tab."""
        code = {"Tab": 9, "Enter": 13}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                     windowsVirtualKeyCode=code)  # fmt: skip

    def picture(self, file: Path) -> None:
        """Save a picture of the whole page."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {**size, "height": min(size["height"], 12_000), "scale": 1}
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(found["data"]))

    def print(self, file: Path) -> bytes:
        """Print the page as PDF."""
        found = self.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        content = base64.b64decode(found["data"])
        file.write_bytes(content)
        return content

    def close(self) -> None:
        """End the browser."""
        self._session = ""
        self.ask("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._commands)
        os.close(self._answers)

    def _next(self) -> dict[str, Any]:
        """Wait for the next message, and note what concerns the page."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise AssertionError(f"{PROGRAM} does not answer")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        event: dict[str, Any] = json.loads(message)
        self._note(event.get("method", ""), event.get("params", {}))
        return event

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {told['message']}")
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.complaints.append(str(told["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
