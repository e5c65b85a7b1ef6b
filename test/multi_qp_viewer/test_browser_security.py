"""Security tests of the page server against malicious pages and programs."""

from __future__ import annotations

import http.client
import random
import socket
import time
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
import numpy as np
import pytest
import viser
import websockets
from websockets.sync.client import connect

from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.walking import VelocityLimitsSpec
from multi_qp_viewer import BrowserViewer
from multi_qp_viewer.browser_server import FRAMES_AT_ONCE, MOST_CLIENTS, MOST_CONNECTIONS

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [3, 2, 1],
    "fov": 1.0,
    "near": 0.01,
    "far": 1000.0,
    "image_height": 480,
    "image_width": 640,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}
NAN, INF = float("nan"), float("inf")
encode = msgspec.msgpack.encode


@pytest.fixture
def page(scene, snapshots, capfd, caplog):
    """Viewer with a handle, a slider, a button and a check box, and the values of their callbacks."""
    got: list[object] = []
    with BrowserViewer(scene, title="target", port=0) as viewer:
        viewer.controls.add_target_handle("hand", np.zeros(3), got.append)
        slider = viewer.controls.add_slider("mass", 1.0, 2.0, 1.5, got.append)
        button = viewer.controls.add_button("go", lambda: got.append("go"))
        viewer.controls.add_velocity_pad("gait", VelocityLimitsSpec(), lambda *velocity: got.append(velocity))
        for snapshot in snapshots:
            viewer.show(snapshot)
        viewer.finish()
        address = urlsplit(viewer.url)
        yield SimpleNamespace(
            viewer=viewer,
            got=got,
            port=address.port,
            token=parse_qs(address.query)["token"][0],
            slider=slider,
            button=button,
            log=caplog,
        )
    printed = capfd.readouterr()
    assert "Traceback" not in printed.out + printed.err + caplog.text
    assert printed.out == ""
    assert "never retrieved" not in caplog.text


def client(page, *, token=None, origin="", host=None, version=viser.__version__, path="/"):
    """Connect like the page, except for the given arguments."""
    own = f"127.0.0.1:{page.port}"
    token = page.token if token is None else token
    return connect(
        f"ws://{host or own}{path}?token={quote(token)}",
        sock=socket.create_connection(("127.0.0.1", page.port)),
        origin=f"http://{own}" if origin == "" else origin,
        subprotocols=[f"viser-v{version}"],
        max_size=None,
        compression=None,
        proxy=None,
    )


def get(page, path="/", **headers):
    """Send an HTTP request; return status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    host = headers.pop("Host", f"127.0.0.1:{page.port}")
    connection.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": host, **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def move(x=0.0, **changes):
    message = {
        "type": "TransformControlsUpdateMessage",
        "name": "/world/handles/hand",
        "wxyz": [1.0, 0.0, 0.0, 0.0],
        "position": [x, 0.0, 0.0],
        "owner": "",
    }
    return {**message, **changes}


def update(widget, value, **more):
    uuid = widget if isinstance(widget, str) else widget._impl.uuid
    return {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value, **more}}


def wait_for(condition, *, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def still_serves(page):
    """Check that the server still accepts valid messages."""
    page.got.clear()
    end = time.monotonic() + 20.0
    while True:
        try:
            socket = client(page)
            break
        except (websockets.InvalidStatus, websockets.InvalidMessage, OSError):
            assert time.monotonic() < end, "no connection any more"
            time.sleep(0.5)
    with socket:
        socket.send(encode(CAMERA))
        socket.send(encode(move(0.25)))
        # messages of connections closed before may still arrive: the last value counts
        wait_for(lambda: any(np.array_equal(value, [0.25, 0.0, 0.0]) for value in list(page.got)))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", None, "http://127.0.0.1:1", "http://localhost.evil.example", "file://"]
)
def test_web_socket_of_another_origin_is_refused(page, origin):
    with pytest.raises(websockets.InvalidStatus) as refused, client(page, origin=origin):
        pass
    assert refused.value.response.status_code == 403
    still_serves(page)


@pytest.mark.parametrize("token", ["", "wrong", "ä", "\udc80".encode("utf-8", "replace").decode(), "x" * 5000])
def test_web_socket_without_the_token_is_refused(page, token):
    with pytest.raises(websockets.InvalidStatus) as refused, client(page, token=token):
        pass
    assert refused.value.response.status_code == 403
    still_serves(page)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8080", "[::1", ""])
def test_unknown_host_names_are_refused(page, host):
    query = f"/?token={page.token}"
    assert get(page, query, Host=host)[0] in (400, 403)
    assert get(page, query, Host=host, Origin=f"http://{host}")[0] in (400, 403)
    if host.startswith("evil"):
        with pytest.raises(websockets.InvalidStatus), client(page, host=host, origin=f"http://{host}"):
            pass


def test_page_requires_the_token(page):
    for path in ("/", "/index.html", "/?token=wrong", f"/?token={page.token}&token={page.token}"):
        status, _, body = get(page, path)
        assert status == 403
        assert b"<html" not in body
    assert get(page, f"/?token={page.token}", Origin="http://evil.example")[0] == 403
    status, headers, _ = get(page, f"/?token={page.token}")
    assert status == 302
    status, headers, body = get(page, headers["Location"])
    assert status == 200
    assert b"<html" in body
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert get(page, f"/?token={page.token}", Host=f"localhost:{page.port}")[0] == 302


@pytest.mark.parametrize(
    "path",
    ["/../_viser.py", "/%2e%2e/_viser.py", "/..\\_viser.py", "//etc/passwd", "/index.html", "/%00", "/a" * 2000],
)
def test_only_the_page_is_served(page, path):
    assert get(page, f"{path}?token={page.token}")[0] in (400, 404)


HOSTILE = [
    "text",
    b"",
    b"\xc1",
    b"\x91" * 10_000,
    b"\xdd\xff\xff\xff\xff",
    encode([]),
    encode({}),
    encode({"type": "NoSuchMessage"}),
    encode({"type": 1}),
    encode({"type": "ShareUrlRequest"}),
    encode({"type": "RunJavascriptMessage", "source": "1"}),
    encode({"type": "FileTransferStartUpload", "part_count": 1 << 60}),
    encode({"type": "GetRenderResponseMessage", "payload": b"", "render_uuid": ""}),
    encode({"type": "GuiFormDirtyMessage", "uuid": "x"}),
    encode({**CAMERA, "fov": NAN}),
    encode({**CAMERA, "position": [0.0, INF, 0.0]}),
    encode({**CAMERA, "position": [0.0, 0.0]}),
    encode({**CAMERA, "wxyz": {}}),
    encode({"type": "ViewerCameraMessage"}),
    encode(move(NAN)),
    encode(move(-INF)),
    encode(move(1e300)),
    encode(move("1")),
    encode(move(None)),
    encode(move(wxyz=[0.0, 0.0, 0.0, 0.0])),
    encode(move(wxyz=[NAN, 0.0, 0.0, 0.0])),
    encode(move(position=[[0.0], 0.0, 0.0])),
    encode(move(name="/no/such/handle")),
    encode(move(owner="me")),
    encode(move(extra=1)),
]


@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
def test_malformed_messages_are_ignored(page, message):
    with client(page) as socket:
        socket.send(encode(CAMERA))
        socket.send(message)
        socket.send(encode(move(0.5)))  # the connection stays open
        wait_for(lambda: page.got)
    assert len(page.got) == 1
    np.testing.assert_allclose(page.got[0], [0.5, 0.0, 0.0])
    still_serves(page)


def test_widget_values_outside_their_range_are_ignored(page):
    panel, gui = page.viewer.panel, page.viewer._server.gui
    number, text = gui.add_number("mass", 3.0, min=1.0, max=5.0), gui.add_text("names", "force")
    names = [
        (number, [NAN, INF, 5.1, 0.9, "3", True, None]),
        (text, [1.0, True, None, ["force"], "x" * 257]),
        (page.slider, [NAN, INF, 2.5, -1e9, "1.5", True, None, [1.5], 1 << 63]),
        (page.button, [False, 1.0, "go", None]),
        (panel.toggles["Bodies"], [1.0, "yes", None]),
        (panel.speed, [1.0, "7×", "", True]),
        (panel._jumps, ["Format", 1.0]),
        (panel.time, [NAN, 1e9, "0"]),
        (panel._status, ["<script>"]),
        ("no such widget", [1.0]),
    ]
    before = (page.slider.value, panel.toggles["Bodies"].value, panel.speed.value, page.viewer.player.time)
    with client(page) as socket:
        socket.send(encode(CAMERA))
        for widget, values in names:
            for value in values:
                socket.send(encode(update(widget, value)))
        for more in ({"removed": True}, {"update_cb": []}, {"min": 0.0}, {"disabled": True}):
            socket.send(encode(update(page.slider, 1.25, **more)))
        socket.send(encode(update(page.slider, 1.75)))
        wait_for(lambda: page.got)
    assert page.got == [1.75]
    assert before == (1.5, panel.toggles["Bodies"].value, panel.speed.value, page.viewer.player.time)
    assert (number.value, text.value) == (3.0, "force")


def test_handle_positions_are_clipped(page):
    with client(page) as socket:
        socket.send(encode(CAMERA))
        socket.send(encode(move(9e4)))
        wait_for(lambda: page.got)
    assert np.abs(page.got[0]).max() < 50.0


def test_random_messages_are_ignored(page):
    rng = random.Random(5)
    seeds = [encode(message) for message in (CAMERA, move(0.1), update(page.slider, 1.2), update(page.button, True))]
    for _ in range(4):
        with client(page) as socket:
            for _ in range(400):
                message = bytearray(rng.choice(seeds))
                for _ in range(rng.randint(1, 4)):
                    message[rng.randrange(len(message))] = rng.randrange(256)
                socket.send(bytes(message[: rng.randint(1, len(message))] if rng.random() < 0.3 else message))
    for value in page.got:
        assert isinstance(value, str) or np.all(np.isfinite(value))
    still_serves(page)


def test_oversized_message_closes_only_its_connection(page):
    with client(page) as good, client(page) as bad:
        good.send(encode(CAMERA))
        with pytest.raises(websockets.ConnectionClosed):
            bad.send(b"\x00" * 5_000_000)
            for _ in range(200):  # messages sent before
                bad.recv(timeout=10)
        good.send(encode(move(0.5)))
        wait_for(lambda: page.got)


@pytest.mark.parametrize("kind", ["messages", "pings", "fragments"])
def test_message_flood_closes_only_its_connection(page, kind):
    with client(page) as good, client(page) as bad:
        good.send(encode(CAMERA))
        with pytest.raises((websockets.ConnectionClosed, OSError)):
            for number in range(200 * FRAMES_AT_ONCE):
                if kind == "pings":
                    bad.ping(str(number))
                elif kind == "messages":
                    bad.send(encode(move(number * 1e-6)))
                else:
                    bad.send(b"" for _ in range(200 * FRAMES_AT_ONCE))
        wait_for(lambda: len(page.viewer._server.get_clients()) <= 1)
        page.got.clear()
        good.send(encode(move(-0.5)))
        wait_for(lambda: any(value[0] == -0.5 for value in page.got))


def is_closed(one):
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_number_of_connections_is_limited_and_recovers(page):
    silent = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(3 * MOST_CONNECTIONS)]
    wait_for(
        lambda: sum(is_closed(one) for one in silent) >= 2 * MOST_CONNECTIONS, seconds=5.0
    )  # idle handshakes time out after 10 s
    for one in silent:
        one.close()
    still_serves(page)
    clients = []
    with pytest.raises((websockets.InvalidStatus, OSError)):
        for _ in range(MOST_CLIENTS + 1):
            clients.append(client(page))
    assert len(clients) <= MOST_CLIENTS
    for one in clients:
        one.socket.shutdown(socket.SHUT_RDWR)  # abort without a closing handshake
    still_serves(page)


def test_invalid_http_prints_nothing(page):
    rng = random.Random(1)
    for start in (
        b"POST / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/0.9\r\n\r\n",
        b"\x16\x03\x01",
        b"GET /\r\n" * 500,
        b"\n" * 9000,
    ):
        with socket.create_connection(("127.0.0.1", page.port)) as one:
            one.sendall(start + rng.randbytes(200))
    still_serves(page)


def test_client_that_does_not_read_delays_no_other(page):
    slow = client(page)
    slow.send(encode(CAMERA))
    with client(page) as good:
        good.send(encode(CAMERA))
        page.viewer.player.reset()
        first = page.viewer.player.time
        wait_for(lambda: page.viewer.player.time > first + 0.3)
        good.send(encode(move(0.5)))
        wait_for(lambda: page.got)
        assert good.recv(timeout=5)
    slow.socket.close()


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 8080), ("no such host", 8080), ("127.0.0.1", 70000)])
def test_address_that_cannot_be_bound_raises(scene, host, port):
    with pytest.raises(MultiQpError, match="cannot listen at"):
        BrowserViewer(scene, title="nowhere", host=host, port=port)


def test_other_servers_of_the_process_are_unaffected(page):
    import websockets.asyncio.server as server

    assert server.serve.__module__ == "websockets.asyncio.server"


def test_velocities_within_the_limits_are_received_and_end_with_the_connection(page):
    with client(page, path="/velocity") as socket:
        socket.send('{"pad": "gait", "shares": [0.5, -1.0, 0.25]}')
        wait_for(lambda: page.got)
        assert page.got == [(0.4, -0.3, 0.25)]
        with client(page, path="/velocity"):
            pass  # a page that moves nothing stops nothing
        socket.send('{"pad": "gait", "shares": [-1, 0, 0]}')
        wait_for(lambda: len(page.got) == 2)
    wait_for(lambda: len(page.got) == 3)
    assert page.got[1:] == [(-0.5, 0.0, 0.0), (0.0, 0.0, 0.0)]


@pytest.mark.parametrize("refused", [{"origin": "http://evil.example"}, {"origin": None}, {"token": "wrong"}])
def test_velocities_of_another_origin_or_without_the_token_are_refused(page, refused):
    with pytest.raises(websockets.InvalidStatus) as error, client(page, path="/velocity", **refused):
        pass
    assert error.value.response.status_code == 403
    assert not page.got


@pytest.mark.parametrize(
    "message",
    [
        '{"pad": "gait", "shares": [1.01, 0, 0]}',
        '{"pad": "gait", "shares": [NaN, 0, 0]}',
        '{"pad": "gait", "shares": [1e999, 0, 0]}',
        '{"pad": "gait", "shares": [1, 0]}',
        '{"pad": "gait", "shares": [true, 0, 0]}',
        '{"pad": "gait", "shares": [0, 0, 0], "more": 1}',
        '{"pad": "other", "shares": [1, 0, 0]}',
        "[" * 10_000,
        b"\x80",
        encode(CAMERA),
    ],
)
def test_malformed_velocities_are_ignored_and_logged(page, message):
    with client(page, path="/velocity") as socket:
        socket.send(message)
        socket.send('{"pad": "gait", "shares": [0, 0, 1]}')
        socket.send('{"pad": "gait", "shares": [0, 0, 0]}')
        wait_for(lambda: len(page.got) >= 2)
        assert page.got == [(0.0, 0.0, 1.0), (0.0, 0.0, 0.0)]
    assert "ignored a message" in page.log.text
    page.log.clear()
    still_serves(page)
