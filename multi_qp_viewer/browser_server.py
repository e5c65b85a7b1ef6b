"""Web server of the page: viser with access control, message validation and rate limits."""

from __future__ import annotations

import asyncio
import contextlib
import http
import io
import logging
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server as websocket_server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from multi_qp_scene.errors import MultiQpError
from multi_qp_viewer.browser_access import SECURITY_HEADERS, Access, is_handshake, is_velocity
from multi_qp_viewer.browser_messages import LARGEST_MESSAGE, Validator
from multi_qp_viewer.velocity_pad import VelocityPads

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 64  # simultaneous TCP connections of any kind
MOST_CLIENTS = 16  # simultaneous pages, and as many web sockets of velocity pads
CLIENTS_PER_SECOND, CLIENTS_AT_ONCE = 1.0, 8  # the whole scene is sent to each
FRAMES_PER_SECOND, FRAMES_AT_ONCE = 200.0, 600  # a page sends less than 100 a second
REFUSAL_DELAY = 0.25  # before a refusal, which bounds the cost of many requests [s]
LOG_INTERVAL = 10.0  # between two log messages [s]

_starting = threading.Lock()


class PageServer:
    """Running `viser.ViserServer` that accepts only the viewer's own page.

    Attributes:
        viser: the server.
        pads: receiver of the velocity pads' commands.
        url: the address to open in a browser; it contains the token.
    """

    def __init__(self, *, host: str, port: int, title: str) -> None:
        """Start serving.

        Args:
            host: address to listen on.
            port: port to listen on, the next free one if it is in use, or 0 for any.
            title: of the page.

        Raises:
            MultiQpError: when the address is not one of this machine, or no port is free.
        """
        self._guard = _Guard(Access(host))
        self.pads = self._guard.pads
        listener = _listen(host, port)
        bound = listener.getsockname()[1]
        try:
            self.viser = _start(self._guard, listener, host=host, port=bound, title=title)
        except BaseException:
            listener.close()
            raise
        self._guard.validator.serve(self.viser)
        name = "localhost" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{bound}/?token={self._guard.access.token}"

    def stop(self) -> None:
        """Stop serving."""
        with contextlib.redirect_stdout(io.StringIO()):  # viser writes to standard output
            self.viser.stop()


class _RateLimit:
    """Token-bucket rate limiter: burst size and rate [1/s]."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate, self._most, self._left, self._last = rate, most, most, time.monotonic()

    def acquire(self) -> bool:
        """Consume one token; return False if none is left."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._last) * self._rate)
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class _Guard:
    """State shared by all connections of one server."""

    def __init__(self, access: Access) -> None:
        self.access, self.validator, self.pads = access, Validator(), VelocityPads()
        self.connections = 0
        self.clients: dict[bool, set[ServerConnection]] = {False: set(), True: set()}  # of pages, of velocity pads
        self._client_limit = _RateLimit(CLIENTS_PER_SECOND, CLIENTS_AT_ONCE)
        self._log_limit = _RateLimit(1.0 / LOG_INTERVAL, 3.0)
        self.started = False

    def report_error(self, message: str) -> None:
        """Log a warning, rate-limited."""
        if self._log_limit.acquire():
            logger.warning("viewer: %s", message.encode("unicode_escape").decode("ascii"))  # may quote a client

    async def answer(self, serve_page: Callable[..., Any], connection: ServerConnection, request: Request) -> Any:
        """Return the response to a request; None accepts a web socket."""
        reason = self.access.refusal(request)
        if reason is None and is_handshake(request):
            of_kind = self.clients[is_velocity(request)]
            if len(of_kind) < MOST_CLIENTS and (is_velocity(request) or self._client_limit.acquire()):
                of_kind.add(connection)
                return None
            reason = "too many connections; try again later"
        if reason is not None:
            origin = request.headers.get_all("Origin")
            self.report_error(f"refused a connection{f' of {origin[0][:80]!r}' if origin else ''}: {reason}")
            await asyncio.sleep(REFUSAL_DELAY)
            return _secured(connection.respond(http.HTTPStatus.FORBIDDEN, f"Refused: {reason}.\n"))
        if urlsplit(request.path).path != "/":  # the page is a single file
            return _secured(connection.respond(http.HTTPStatus.NOT_FOUND, "Not found.\n"))
        target = self.access.redirection(request)
        if target is not None:
            response = connection.respond(http.HTTPStatus.FOUND, "")
            response.headers["Location"] = target
            return _secured(response)
        return _secured(serve_page(connection, request))

    async def receive_velocities(self, connection: ServerConnection) -> None:
        """Receive the commands of a page's velocity pads until it is closed."""
        try:
            with contextlib.suppress(ConnectionClosed):
                async for raw in connection:
                    fault = self.pads.receive(raw, connection)
                    if fault is not None:
                        self.report_error(f"ignored a message: {fault}")
        finally:
            self.pads.lose(connection)


class _Connection(ServerConnection):
    """Connection with message validation and a rate limit."""

    def __init__(self, *arguments: Any, guard: _Guard, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = guard
        self._frame_limit = _RateLimit(FRAMES_PER_SECOND, FRAMES_AT_ONCE)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._guard.connections += 1
        if self._guard.connections > MOST_CONNECTIONS:
            self._guard.report_error("too many connections")
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.connections -= 1
        for of_kind in self._guard.clients.values():
            of_kind.discard(self)
        super().connection_lost(exc)

    def process_event(self, event: Any) -> None:
        if not self._frame_limit.acquire():
            self._guard.report_error("closed a connection that sent too many messages")
            self.transport.abort()
            return
        super().process_event(event)

    async def recv(self, decode: bool | None = None) -> Any:
        """Return the next valid message."""
        while True:
            raw = await super().recv(decode)
            if self.request is not None and is_velocity(self.request):
                return raw  # validated by its receiver
            fault = self._guard.validator.fault(raw)
            if fault is None:
                return raw
            self._guard.report_error(f"ignored a message: {fault}")


class _NoTracebacks(logging.Filter):
    """Log filter: drops messages that any client can provoke, and shortens the others to one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]!r}", ()
            record.exc_info = None
        return not record.getMessage().startswith(("opening handshake failed", "connection rejected"))


_connections_logger = logging.getLogger(f"{__name__}.connections")
_connections_logger.setLevel(logging.WARNING)
_connections_logger.addFilter(_NoTracebacks())


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket at the first free port from `port` on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reason: Exception | None = None
    for attempt in range(port, min(port + 1000, 65536)):
        try:
            return socket.create_server((host, attempt), family=family)
        except OSError as error:
            reason = error
            if isinstance(error, socket.gaierror):
                break
    raise MultiQpError(f"viewer: cannot listen at {host}, port {port} or later: {reason}")


def _start(guard: _Guard, listener: socket.socket, *, host: str, port: int, title: str) -> viser.ViserServer:
    """Start viser on a listening socket, with the checks of this module.

    viser has no option to check its connections. It looks up `serve` when it starts, so `serve` is replaced during the
    start; a lock and a check of the caller's module exclude other servers.
    """
    original = websocket_server.serve

    def serve(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        if not handler.__module__.startswith("viser."):
            return original(handler, *arguments, process_request=process_request, **options)
        guard.started = True
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: guard.report_error(f"{context['message']}: {context.get('exception')!r}")
        )
        options |= {
            "max_size": LARGEST_MESSAGE,
            "create_connection": partial(_Connection, guard=guard),
            "logger": _connections_logger,
            "server_header": None,
            "sock": listener,
        }

        async def receive(connection: ServerConnection) -> None:
            of_pads = connection.request is not None and is_velocity(connection.request)
            await (guard.receive_velocities(connection) if of_pads else handler(connection))

        return original(receive, process_request=partial(guard.answer, process_request), **options)

    with _starting, contextlib.redirect_stdout(io.StringIO()):  # viser writes to standard output
        websocket_server.serve = serve  # type: ignore[assignment,misc]
        try:
            server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        finally:
            websocket_server.serve = original  # type: ignore[misc]
        if not guard.started or server.get_port() != port:  # never serve without the checks
            server.stop()
            raise RuntimeError(f"viser {viser.__version__} does not start its server as expected")
    return server


def _secured(response: Response) -> Response:
    headers = Headers(response.headers)
    for name, value in SECURITY_HEADERS.items():
        headers[name] = value
    response.headers = headers
    return response
