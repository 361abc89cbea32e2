"""A server of the workbench in a thread."""

import contextlib
import threading
import time

import pytest

pytest.importorskip("starlette", reason="the extra `app` is not installed")
pytest.importorskip("uvicorn", reason="the extra `app` is not installed")

from bowfree.app.server import Server


@contextlib.contextmanager
def serving(session, *, port=0, token=None):
    """Serve a session until the end of the block."""
    server = Server(session, port)
    if token is not None:
        server.token = token
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server._server.started and time.monotonic() < until:
            time.sleep(0.01)
        yield server
    finally:
        server.end()
        thread.join(20)
        assert not thread.is_alive()
