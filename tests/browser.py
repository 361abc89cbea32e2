"""Headless Chromium for tests, controlled over a pipe with its DevTools protocol.

Requires only ``chromium`` (or Chrome), no driver. Messages are JSON strings that end with a zero
byte; the browser reads them from file descriptor 3 and answers on 4.
"""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# JupyterLab uses these numbers.
KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46,
}  # fmt: skip


# Run by a Python process that becomes the browser. With `preexec_fn` this process would be forked,
# and libraries with threads would warn.
CONNECT = """
import os, sys
for end, number in zip(sys.argv[1:3], (3, 4)):
    os.dup2(int(end), number)
    os.close(int(end))
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_browser():
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A headless Chromium with one active tab; a context manager."""

    def __init__(self, path, profile):
        self.ids = itertools.count(1)
        self.errors = []  # errors and warnings of the console
        self.requests = []  # addresses that the page requested
        self.loaded = False
        self.session = None
        self.unread = b""
        # High numbers: neither end may be 3 or 4 already.
        theirs_in, ours_out = (fcntl.fcntl(f, fcntl.F_DUPFD, 20) for f in os.pipe())
        ours_in, theirs_out = (fcntl.fcntl(f, fcntl.F_DUPFD, 20) for f in os.pipe())
        self.ours_in, self.ours_out = ours_in, ours_out
        quiet = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
            "--disable-background-networking --disable-component-update --disable-sync "
            "--disable-default-apps --disable-extensions --disable-dev-shm-usage "
            "--hide-scrollbars --force-device-scale-factor=1 --remote-debugging-pipe"
        )
        become = [sys.executable, "-c", CONNECT, str(theirs_in), str(theirs_out)]
        self.process = subprocess.Popen(
            [*become, path, *quiet.split(), f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
            # `nox -s sanitize` preloads a library that crashes browsers.
            env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        targets = self.call("Target.getTargets")["targetInfos"]
        self._attach(next(t["targetId"] for t in targets if t["type"] == "page"))

    def _attach(self, target):
        self.session = None
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    @contextlib.contextmanager
    def another_tab(self):
        """Use another tab; yield the session of the one before."""
        before, self.session = self.session, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._attach(target)
        try:
            yield before
        finally:
            self.session = None
            self.call("Target.closeTarget", targetId=target)
            self.session = before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.ours_in)
        os.close(self.ours_out)

    def call(self, method, **parameters):
        """Send a command and return its result."""
        number = next(self.ids)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.ours_out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _read(self, seconds=60):
        until = time.monotonic() + seconds
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.ours_in], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self.ours_in, 1 << 16) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self.unread += chunk
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def _note(self, event):
        method, given = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(given["exceptionDetails"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(given["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.errors.append(given["args"])

    def open(self, page, *, width=1200, height=900, dark=False):
        """Load a file, or a page by its address."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.loaded = False
        address = page if str(page).startswith("http") else Path(page).as_uri()
        self.call("Page.navigate", url=address)
        while not self.loaded:
            self._note(self._read())

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"])
        return found["result"].get("value")

    def mouse(self, kind, x, y):
        """Move, press or release the mouse: "Moved", "Pressed", "Dragged", "Released"."""
        button = {} if kind == "Moved" else {"button": "left", "buttons": 1, "clickCount": 1}
        event = "mouseMoved" if kind == "Dragged" else f"mouse{kind}"
        self.call("Input.dispatchMouseEvent", type=event, x=x, y=y, **button)

    def press(self, key, *, control=False, shift=False):
        """Press and release a key by its name, such as ``ArrowDown``."""
        held = 2 * control + 8 * shift
        number = KEY_CODES.get(key) or ord(key.upper())
        names = {"key": key, "code": key, "modifiers": held, "windowsVirtualKeyCode": number}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **names)

    def screenshot(self, file):
        """Write a screenshot as PNG."""
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        Path(file).write_bytes(base64.b64decode(picture))
