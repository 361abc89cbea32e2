"""The server of ``bowfree app``: one session, for browsers on this machine and nobody else.

It listens on 127.0.0.1. The address has a random token in it, and everything that does not begin
with that token is answered with 404, whatever it is. A page of another site that runs in the same
browser must not get in, so the ``Host`` header has to be ours (a name that was made to point here,
by DNS rebinding, is not) and so has ``Origin`` where there is one; to say something it is required.
Four texts can be read, which are in memory; no file is. ``Content-Security-Policy`` keeps the page
from asking anybody else.

Questions come by POST, what the session has to tell goes out as server-sent events: both need no
more than starlette and uvicorn.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator
from typing import Any

from bowfree.app.front_end import page_files
from bowfree.app.messages import LONGEST
from bowfree.app.session import Session
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

_PULSE = 2.0  # seconds between signs of life where there is nothing to tell
_GRACE = 1  # seconds that open connections have when the server ends


def _listening(port: int) -> socket.socket:
    """Return a socket that listens on this machine only."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise BowfreeError(
            f"port {port} cannot be used ({error.strerror}): leave the port out to take any that "
            "is free"
        ) from None
    return listening


class Server:
    """A session on a socket.

    Parameters
    ----------
    session : Session
        What is served.
    port : int
        Where to listen; 0 is any port that is free.

    Raises
    ------
    BowfreeError
        When starlette or uvicorn is not installed, or another program has the port.
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        try:
            import uvicorn
            from starlette.applications import Starlette
        except ImportError as error:
            raise BowfreeError(
                f"the workbench needs starlette and uvicorn ({error}): run "
                '`pip install "bowfree[app]"`'
            ) from error
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        self._files = page_files()
        self._hosts = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        # One route for all: what is not ours is refused before anything else is looked at.
        app = Starlette()
        app.add_route("/{path:path}", self._answer, methods=["GET", "POST"])
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Serve until Ctrl-C, or until :meth:`end` is called from another thread."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:  # uvicorn has ended, and passes the signal on
            pass
        finally:
            self._socket.close()
            self.session.close()

    def end(self) -> None:
        """Have `run` come back."""
        self._server.should_exit = True

    # --- requests ---

    async def _answer(self, request: Any) -> Any:
        from starlette.responses import Response

        token, _, name = request.path_params["path"].partition("/")
        known = secrets.compare_digest(token.encode(), self.token.encode())
        if not known or request.headers.get("host") not in self._hosts:
            return Response("not found", 404, _HEADERS, "text/plain")
        origin = request.headers.get("origin")
        ours = {f"http://{host}" for host in self._hosts}
        if (origin is not None or request.method == "POST") and origin not in ours:
            return Response("another site may not ask here", 403, _HEADERS, "text/plain")
        if request.method == "POST":
            return await self._asked(request) if name == "do" else self._no_such()
        if name == "events":
            return self._events()
        if name in self._files:
            kind, text = self._files[name]
            return Response(text, 200, _HEADERS, kind)
        return self._no_such()

    def _no_such(self) -> Any:
        from starlette.responses import Response

        return Response("not found", 404, _HEADERS, "text/plain")

    async def _asked(self, request: Any) -> Any:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        body, most = b"", 4 * LONGEST
        said = request.headers.get("content-length", "0")
        if not said.isdecimal() or len(said) > 12 or int(said) > most:
            return Response("too long", 413, _HEADERS, "text/plain")
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                return Response("too long", 413, _HEADERS, "text/plain")
        try:
            message = load_json(body)
        except BowfreeError as error:
            answer = {"re": None, "error": str(error)}
        else:
            answer = await run_in_threadpool(self.session.answer, message)
        return Response(_json(answer), 200, _HEADERS, "application/json")

    def _events(self) -> Any:
        from starlette.responses import StreamingResponse

        loop = asyncio.get_running_loop()
        news: asyncio.Queue[str] = asyncio.Queue()

        def hear(message: dict[str, Any]) -> None:
            # Called from the threads of the session.
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.put_nowait, _json(message))

        async def stream() -> AsyncIterator[str]:
            leave = self.session.listen(hear)
            try:
                yield ": here\n\n"
                quiet = 0.0
                while not self._server.should_exit:
                    try:
                        text = await asyncio.wait_for(news.get(), timeout=0.25)
                        yield f"data: {text}\n\n"
                        quiet = 0.0
                    except TimeoutError:
                        quiet += 0.25
                        if quiet >= _PULSE:
                            quiet = 0.0
                            yield ": here\n\n"
            finally:
                leave()

        return StreamingResponse(stream(), 200, _HEADERS, "text/event-stream")


def _json(message: dict[str, Any]) -> str:
    return json.dumps(message, allow_nan=False, separators=(",", ":"))
