"""Only who knows the viewer's address watches and steers: tried with a real WebSocket client, as web pages would."""

from __future__ import annotations

import http.client
import socket

import msgspec
import numpy as np
import pytest
import viser
from browser import wait_for
from viser._messages import TransformControlsUpdateMessage
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import equipoise as eq
from equipoise.show import guard as guard_module
from equipoise.show.guard import Guard, ViewerError, guarded_server, refuses_strangers
from equipoise.show.scene import server, stop

EVIL = "http://evil.example"


@pytest.fixture
def live():
    """A server with one handle to drag."""
    made = server("127.0.0.1", 0)
    made.handle = made.scene.add_transform_controls("/targets/hand")
    yield made
    stop(made)


def attempt(live, path=None, host=None, origin=None, message=None):
    """What a client receives first that asks in this way; it drags the handle if the server lets it."""
    port = live.get_port()
    path = f"/{live.guard.secret}" if path is None else path
    with socket.create_connection(("127.0.0.1", port), timeout=10) as own:
        uri = f"ws://{host or f'127.0.0.1:{port}'}{path}"
        options = dict(subprotocols=[f"viser-v{viser.__version__}"], origin=origin, proxy=None, sock=own, max_size=None)
        with connect(uri, **options) as client:
            received = client.recv(timeout=10)
            if message is not None:
                client.send(msgspec.msgpack.encode({"type": type(message).__name__, **vars(message)}))
                wait_for(lambda: np.allclose(live.handle.position, message.position), "the handle to move", 10)
            return received


DRAG = TransformControlsUpdateMessage("/targets/hand", (1.0, 0.0, 0.0, 0.0), (1.0, 2.0, 3.0))


def test_who_knows_the_address_watches_and_steers(live):
    origin = f"http://127.0.0.1:{live.get_port()}"
    assert len(attempt(live, origin=origin, message=DRAG)) > 100


WRONG = {
    "no secret": dict(path="/"),
    "a wrong secret": dict(path="/" + "A" * 22),
    "part of the secret": dict(path=lambda secret: f"/{secret[:-1]}"),
    "the secret and more": dict(path=lambda secret: f"/{secret}x"),
    "the secret as a query": dict(path=lambda secret: f"/?{secret}"),
    "the secret as a later step": dict(path=lambda secret: f"/x/{secret}"),
    "another page": dict(origin=EVIL),
    "a page of this machine, on another port": dict(origin="http://127.0.0.1:1"),
    "a page without an origin": dict(origin="null"),
    "a name that points here": dict(host="evil.example:8080"),
    "a name and a page of it": dict(host="evil.example:8080", origin="http://evil.example:8080"),
    "a name that begins as ours": dict(host="localhost.evil.example"),
    "a name that ends as ours": dict(host="evil.localhost.example:80"),
}


@pytest.mark.parametrize("what", WRONG)
def test_strangers_get_no_scene_and_move_nothing(live, what):
    wrong = dict(WRONG[what])
    if callable(wrong.get("path")):
        wrong["path"] = wrong["path"](live.guard.secret)
    with pytest.raises(InvalidStatus) as refused:
        attempt(live, message=DRAG, **wrong)
    assert refused.value.response.status_code == 403
    assert np.allclose(live.handle.position, 0)


def page(live, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", live.get_port(), timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_the_page_itself_needs_the_secret(live):
    secret = live.guard.secret
    assert page(live, f"/{secret}/")[1].startswith(b"<!doctype html>")
    assert page(live, f"/{secret}")[0] == 200
    assert page(live, f"/{secret}/../../secret")[0] == 404
    for path, headers in (("/", {}), ("/index.html", {}), (f"/{secret}/", {"Host": "evil.example"})):
        status, content = page(live, path, **headers)
        assert status == 403 and secret.encode() not in content


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8080", "192.168.0.7:8080", "robot.lab:8080"])
def test_hosts_by_which_a_viewer_is_called(host):
    """Addresses in numbers, through any port that leads here, and the name it listens on."""
    from websockets.datastructures import Headers

    guard = Guard("robot.lab")
    assert guard.reason_against(f"/{guard.secret}/", Headers(Host=host)) is None
    twice = Headers([("Host", host), ("Host", "evil.example")])
    assert guard.reason_against(f"/{guard.secret}/", twice) == "it asks for another host"
    assert guard.reason_against(f"/{guard.secret}/", Headers()) == "it asks for another host"


def test_every_viewer_has_its_own_secret():
    assert len({Guard("localhost").secret for _ in range(100)}) == 100
    assert len(Guard("localhost").secret) >= 20


def test_other_servers_of_the_process_are_left_alone(live):
    """No global of viser or websockets is changed: a server that its user opens alone answers as before."""
    from equipoise.show.scene import quiet_viser

    with quiet_viser():
        own = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            assert not refuses_strangers(own)
            assert refuses_strangers(live)
        finally:
            own.stop()


def test_a_viser_that_does_not_ask_the_guard_is_not_used(monkeypatch):
    monkeypatch.setattr(guard_module, "_with_globals", lambda function, **changed: function)
    with pytest.raises(ViewerError, match="starts its server in a way that is not known"):
        server("127.0.0.1", 0)


def test_an_address_that_is_not_of_this_machine_is_refused():
    with pytest.raises(eq.EquipoiseError, match=r"cannot listen on '192\.0\.2\.1'"):
        guarded_server("192.0.2.1", 0)
