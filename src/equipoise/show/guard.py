"""Who may watch and steer: the viewer's address holds a secret, and web pages of others are turned away.

Any page that a browser shows can open a WebSocket to this machine. So every request must name the secret as the first
step of its path, this machine as its host, and, where a browser says which page asks, the viewer's own page.
"""

from __future__ import annotations

import hmac
import http.client
import ipaddress
import secrets
import socket
from collections.abc import Callable
from html import escape
from http import HTTPStatus
from types import FunctionType, SimpleNamespace
from typing import Any

from ..errors import EquipoiseError

SECRET_BYTES = 16
PROBE_TIMEOUT = 5.0  # s, for the server's answer to the request that it must refuse


class ViewerError(EquipoiseError):
    """The viewer cannot be opened safely."""


class Guard:
    """Decides about requests for one server.

    Attributes:
        secret: first step of every path.
        names: hosts by which browsers may call the server, beside addresses in numbers.
        title: of the page, on the browser's tab.
    """

    title = "Equipoise"

    def __init__(self, host: str) -> None:
        self.secret = secrets.token_urlsafe(SECRET_BYTES)
        self.names = {"localhost", host.lower(), socket.gethostname().lower()}

    def reason_against(self, path: str, headers: Any) -> str | None:
        """Returns why a request is refused; None if it may pass."""
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return "it asks for another host"
        if any(origin not in (f"http://{hosts[0]}", f"https://{hosts[0]}") for origin in origins):
            return "another page asks"
        given = path.split("?")[0].split("/")[1:2]
        if not given or not hmac.compare_digest(given[0].encode("utf-8", "replace"), self.secret.encode()):
            return "the address lacks the secret that the viewer printed"
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host is one of ours. Names could be made to point here by anybody; addresses in numbers cannot."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self.names
        return True

    def _titled(self, response: Any) -> Any:
        """Returns viser's page under our title; any other answer, such as that to a WebSocket, as it is."""
        if response is not None and response.status_code == HTTPStatus.OK:
            response.body = response.body.replace(b"<title>Viser<", f"<title>{escape(self.title)}<".encode(), 1)
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))
        return response

    def serve(self, handler: Any, *place: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        """`websockets.asyncio.server.serve` with every request checked before its own `process_request` sees it."""
        from websockets.asyncio.server import serve
        from websockets.http11 import Request

        def checked(connection: Any, request: Any) -> Any:
            reason = self.reason_against(request.path, request.headers)
            if reason is not None:
                return connection.respond(HTTPStatus.FORBIDDEN, f"This viewer refuses the request: {reason}.\n")
            path = request.path[1 + len(self.secret) :] or "/"
            if path.split("?")[0] != "/":
                return process_request(connection, Request(path, request.headers))
            if "Accept-Encoding" in request.headers:
                del request.headers["Accept-Encoding"]  # the page comes as it is, to get its title
            return self._titled(process_request(connection, Request(path, request.headers)))

        return serve(handler, *place, process_request=checked, **options)


def guarded_server(host: str, port: int) -> Any:
    """Returns a viser server with a `guard`.

    viser takes no check of requests from its users. Its own functions are run here with other globals, in which the
    server that they start is ours; nothing is changed for other users of viser in this process.
    """
    import viser
    import websockets
    from viser import _viser, infra

    try:  # viser waits for ever where it cannot listen
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise ViewerError(f"the viewer cannot listen on {host!r}: {error.strerror or error}") from None
    guard = Guard(host)
    asyncio_server = SimpleNamespace(server=SimpleNamespace(serve=guard.serve))

    class Server(infra.WebsockServer):
        _background_worker = _with_globals(
            infra.WebsockServer._background_worker,
            websockets=SimpleNamespace(**{**vars(websockets), "asyncio": asyncio_server}),
        )

    class Viser(viser.ViserServer):
        __init__ = _with_globals(
            viser.ViserServer.__init__, infra=SimpleNamespace(**{**vars(_viser.infra), "WebsockServer": Server})
        )

    made = Viser(host=host, port=port, verbose=False)
    made.guard = guard
    if not refuses_strangers(made):
        made.stop()
        raise ViewerError(f"viser {viser.__version__} starts its server in a way that is not known: install viser 1.1")
    return made


def _with_globals(function: Any, **changed: Any) -> Any:
    copy = FunctionType(
        function.__code__,
        function.__globals__ | changed,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def refuses_strangers(server: Any) -> bool:
    """Whether the server turns away a page and a WebSocket that do not name the secret."""
    upgrade = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }  # fmt: skip
    for headers in ({}, upgrade):
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.get_host(), server.get_host())
        connection = http.client.HTTPConnection(host, server.get_port(), timeout=PROBE_TIMEOUT)
        try:
            connection.request("GET", "/", headers=headers)
            if connection.getresponse().status != HTTPStatus.FORBIDDEN:
                return False
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
    return True
