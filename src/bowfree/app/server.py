"""The server of ``bowfree app``: one session, for browsers on this machine only.

It listens on 127.0.0.1. The address contains a random token, and every path that does not start
with it is answered with 404. Pages of other sites in the same browser must not get access: the
``Host`` header must be ours (which protects against DNS rebinding), and so must ``Origin`` if there
is one; a POST requires it. Only four texts in memory can be read, no files.
``Content-Security-Policy`` keeps the page from loading anything from elsewhere.

Messages of the page are POST requests, messages of the session are server-sent events: both need
only starlette and uvicorn.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bowfree.app.front_end import page_files
from bowfree.app.jobs import error_text
from bowfree.app.messages import MAX_TEXT, Message
from bowfree.app.saved import Origin
from bowfree.app.session import Session
from bowfree.datasets.files import read_table
from bowfree.errors import BowfreeError
from bowfree.text_reading import load_json

HOST = "127.0.0.1"

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_WRONG_ADDRESS = (
    "This is not the address of a running workbench.\n\n"
    "Every start of `bowfree app` has a new address, which ends with a long random word. Copy the "
    "whole address that the command printed, or start `bowfree app` again."
)
_HEARTBEAT = 2.0  # seconds between events without a message
_SHUTDOWN_SECONDS = 1  # for open connections when the server ends


def _listen(port: int) -> socket.socket:
    """Return a socket that accepts connections from this machine only."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise BowfreeError(
            f"port {port} cannot be used ({error.strerror}): omit the port to use any free one"
        ) from None
    return listening


class Server:
    """A session on a socket; port 0 is any free port."""

    def __init__(self, session: Session, port: int = 0) -> None:
        try:
            import uvicorn
            from starlette.applications import Starlette
        except ImportError as error:
            raise BowfreeError(
                f"the workbench requires starlette and uvicorn ({error}): run "
                '`pip install "bowfree[app]"`'
            ) from error
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self._files = page_files()
        self._hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        # One route for all paths: requests are checked before anything else.
        app = Starlette()
        app.add_route("/{path:path}", self._answer, methods=["GET", "POST"])
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Serve until Ctrl-C, or until :meth:`end` is called from another thread."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:  # uvicorn has ended and raises the signal again
            pass
        finally:
            self._socket.close()
            self.session.close()

    def end(self) -> None:
        """Make `run` return."""
        self._server.should_exit = True

    # --- requests ---

    async def _answer(self, request: Any) -> Any:
        token, _, name = request.path_params["path"].partition("/")
        known = secrets.compare_digest(token.encode(), self.token.encode())
        if not known or request.headers.get("host") not in self._hosts:
            return _respond(_WRONG_ADDRESS, 404)
        origin = request.headers.get("origin")
        ours = {f"http://{host}" for host in self._hosts}
        if (origin is not None or request.method == "POST") and origin not in ours:
            return _respond("requests from other sites are refused", 403)
        if request.method == "POST" and name == "do":
            return await self._answer_message(request)
        if request.method == "GET" and name == "events":
            return self._events()
        if request.method == "GET" and name in self._files:
            kind, text = self._files[name]
            return _respond(text, 200, kind)
        return _respond("not found", 404)

    async def _answer_message(self, request: Any) -> Any:
        from starlette.concurrency import run_in_threadpool

        body, limit = b"", 4 * MAX_TEXT
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > limit:
            return _respond("too long", 413)
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                return _respond("too long", 413)
        try:
            message = load_json(body)
        except BowfreeError as error:
            answer = {"reply_to": None, "error": str(error)}
        else:
            opens = isinstance(message, dict) and message.get("do") == "open"
            answer = await run_in_threadpool(
                self._open_table if opens else self.session.answer, message
            )
        return _respond(_json(answer), 200, "application/json")

    def _open_table(self, message: dict[str, Any]) -> dict[str, Any]:
        """Replace the session by one for the table in a message; the page then loads again."""
        number = message.get("id")
        try:
            fields = Message(self.session, message)
            name = Path(fields.text("name")).name
            with tempfile.TemporaryDirectory() as folder:
                suffix = Path(name).suffix.lower()
                file = Path(folder, f"table{suffix if suffix in ('.tsv', '.txt') else '.csv'}")
                file.write_text(fields.text("text"), encoding="utf-8")
                data = dict(read_table(file))
            session = Session(
                data, origin=Origin((f"data = dict(bf.datasets.read_table({name!r}))",), name)
            )
        except BowfreeError as error:
            return {"reply_to": number, "error": error_text(error)}
        before, self.session = self.session, session
        before.close()
        return {"reply_to": number, "opened": name}

    def _events(self) -> Any:
        from starlette.responses import StreamingResponse

        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()

        def receive(message: dict[str, Any]) -> None:
            # Called from the threads of the session.
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, _json(message))

        async def stream() -> AsyncIterator[str]:
            session = self.session
            leave = session.listen(receive)
            try:
                yield ": connected\n\n"
                idle = 0.0
                while not self._server.should_exit:
                    try:
                        text = await asyncio.wait_for(queue.get(), timeout=0.25)
                        yield f"data: {text}\n\n"
                        idle = 0.0
                    except TimeoutError:
                        if self.session is not session:
                            return  # another table was opened
                        idle += 0.25
                        if idle >= _HEARTBEAT:
                            idle = 0.0
                            yield ": connected\n\n"
            finally:
                leave()

        return StreamingResponse(stream(), 200, _HEADERS, "text/event-stream")


def _respond(text: str, status: int, kind: str = "text/plain") -> Any:
    from starlette.responses import Response

    return Response(text, status, _HEADERS, kind)


def _json(message: dict[str, Any]) -> str:
    return json.dumps(message, allow_nan=False, separators=(",", ":"))
