"""Access control of the page: which HTTP requests and web socket handshakes are accepted."""

from __future__ import annotations

import secrets
import socket
from ipaddress import ip_address
from urllib.parse import parse_qs, quote, urlsplit

import viser
from websockets.datastructures import Headers
from websockets.http11 import Request

from multi_qp_viewer import velocity_pad

#: Headers of every response: no framing, no Referer (the address contains the token), no copy on disk.
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Access:
    """Access checks: only requests of the viewer's own page with the token are accepted.

    Three independent checks: `Host` is an address or a known name of this machine (against DNS rebinding), `Origin` is
    that same host (against pages of other sites), and the query contains the token of this viewer (against other users
    and programs).
    """

    def __init__(self, host: str) -> None:
        """Generate a token.

        Args:
            host: address that the server listens on.
        """
        self.token = secrets.token_urlsafe(16)
        self._names = {"localhost", host.lower(), socket.gethostname().lower()} - {""}

    def refusal(self, request: Request) -> str | None:
        """Return the reason to refuse a request, None if it is accepted."""
        host = _only(request.headers, "Host")
        if host is None or not self._is_own(host):
            return "unknown host name"
        origin = _only(request.headers, "Origin")
        if origin not in (f"http://{host}", f"https://{host}") and (origin or is_handshake(request)):
            return "page of another origin"
        if not secrets.compare_digest(_query(request, "token").encode("utf-8", "replace"), self.token.encode()):
            return "missing or wrong token; open the address that was printed when the viewer started"
        if is_handshake(request) and not is_velocity(request):
            if f"viser-v{viser.__version__}" not in request.headers.get_all("Sec-WebSocket-Protocol"):
                return "page of another version; reload it"
        return None

    def redirection(self, request: Request) -> str | None:
        """Return the address with which viser's page connects with the token; None if the request already has it."""
        host = _only(request.headers, "Host")
        socket_address = f"ws://{host}/?token={self.token}"
        if _query(request, "websocket") == socket_address:
            return None
        return f"/?token={self.token}&websocket={quote(socket_address, safe='')}"

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._names or _is_address(name)


def is_handshake(request: Request) -> bool:
    """Whether a request is a web socket handshake."""
    return any(value.lower() == "websocket" for value in request.headers.get_all("Upgrade"))


def is_velocity(request: Request) -> bool:
    """Whether a request is for the web socket of the velocity pads."""
    return urlsplit(request.path).path == velocity_pad.PATH


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _only(headers: Headers, name: str) -> str | None:
    """Return the lower-case value of a header; None if it is missing or repeated."""
    values = headers.get_all(name)
    return values[0].lower() if len(values) == 1 else None


def _query(request: Request, name: str) -> str:
    """Return a query parameter; an empty string if it is missing or repeated."""
    try:
        values = parse_qs(urlsplit(request.path).query, max_num_fields=20).get(name, [])
    except ValueError:
        return ""
    return values[0] if len(values) == 1 else ""
