"""Headless Firefox for tests, controlled with WebDriver BiDi; requires no driver."""

import itertools
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import websocket  # websocket-client

from app_tab import Tab

SETTINGS = {"remote.active-protocols": 1, "browser.download.folderList": 2}
KEYS = {"End": "\ue010", "Enter": "\ue007", "Escape": "\ue00c"}


def find_firefox():
    """Return the path of a Firefox, or None."""
    return shutil.which("firefox") or shutil.which("firefox-esr")


class FirefoxTab(Tab):
    """A headless Firefox with the methods of `Tab`; downloads go to the folder of its profile."""

    def __init__(self, path, profile):
        self.errors, self.requests, self.ids = [], [], itertools.count(1)
        self.folder = Path(profile)
        self.folder.mkdir()
        settings = SETTINGS | {"browser.download.dir": str(profile)}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in settings.items()]
        (self.folder / "user.js").write_text("\n".join(lines), encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        start = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", port]
        self.process = subprocess.Popen(
            [path, *map(str, start)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile)},
        )
        end = time.monotonic() + 90
        while True:
            try:
                address = f"ws://127.0.0.1:{port}/session"
                self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
                break
            except OSError:
                assert time.monotonic() < end, "Firefox does not answer"
                time.sleep(0.3)
        self.call("session.new", capabilities={})
        self.session = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded"])

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=30)

    def call(self, method, **parameters):
        """Send a command and return its result."""
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['message']}")
                return answer["result"]
            given = answer.get("params", {})
            if given.get("level") in ("error", "warn"):
                self.errors.append(given["text"])

    def open(self, page, *, width=1200, height=900, dark=False):
        """Load a file, or a page by its address."""
        size = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self.session, viewport=size)
        address = page if str(page).startswith("http") else Path(page).as_uri()
        self.call("browsingContext.navigate", context=self.session, url=address, wait="complete")

    def evaluate(self, expression):
        """Return the value of a JavaScript expression."""
        found = self.call(
            "script.evaluate",
            expression=f"((x) => x instanceof Node ? null : JSON.stringify(x))({expression})",
            target={"context": self.session},
            awaitPromise=False,
        )
        if found["type"] == "exception":
            raise RuntimeError(found["exceptionDetails"]["text"])
        value = found["result"].get("value")
        return None if value is None else json.loads(value)

    def mouse(self, kind, x, y):
        """Move, press or release the mouse: "Moved", "Pressed", "Dragged", "Released"."""
        what = {"Pressed": "pointerDown", "Released": "pointerUp"}.get(kind)
        self._point("mouse", [(x, y), *([what] if what else [])])

    def touch(self, *points):
        """Touch at the first point, move to the others, and end at the last."""
        self._point("touch", [points[0], "pointerDown", *points[1:], "pointerUp"])

    def _point(self, kind, steps):
        actions = [
            {"type": step, "button": 0}
            if isinstance(step, str)
            else {"type": "pointerMove", "x": round(step[0]), "y": round(step[1])}
            for step in steps
        ]
        source = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}}
        self._act(source | {"actions": actions})

    def press(self, key):
        """Press and release a key by its name."""
        value = KEYS.get(key, key)
        actions = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keys", "actions": actions})

    def _act(self, source):
        self.call("input.performActions", context=self.session, actions=[source])
