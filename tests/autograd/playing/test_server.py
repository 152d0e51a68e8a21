"""The server of the playground: who is answered, who is not, and when it ends."""

import http.client
import json
import socket
import threading
import time
from urllib.parse import urlencode

import pytest

from autograd.playing import server as served
from autograd.playing.graph import FIRST_NUMBERS
from autograd.playing.server import LARGEST_BODY, Server


@pytest.fixture(scope="module")
def server():
    with Server() as one:
        one.start()
        yield one
        one.shutdown()


def ask(server, path="", method="GET", body=None, headers=(), token=None, raw=False):
    """Status, headers and text of an answer; the path begins after the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    whole = path if raw else f"/{server.token if token is None else token}/{path}"
    given = {"Content-Type": "application/json"} | dict(headers)
    connection.request(method, whole, body if body is None or isinstance(body, bytes) else json.dumps(body), given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def formula(server, text, **values):
    status, _, answer = ask(server, "formula", "POST", {"formula": text, "values": values})
    assert status == 200
    return json.loads(answer)


def test_it_listens_on_this_computer_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32 and server.token not in (Server.__name__, "")


def test_a_formula_becomes_names_code_and_a_page(server):
    answer = formula(server, "tanh(a*b + a^2)", b=-4.0)
    assert answer["values"] == {"a": FIRST_NUMBERS[0], "b": -4.0} and answer["note"] == ""
    status, headers, page = ask(server, answer["page"])
    assert (
        status == 200 and "hg-stage" in page and headers["Content-Security-Policy"].startswith("sandbox allow-scripts")
    )


def test_a_mistake_is_pointed_at(server):
    assert formula(server, "x + sinn(y)") | {"error": ""} == {"error": "", "at": 4, "end": 8}
    assert "cards" in formula(server, "+".join(["x"] * 100))["error"]


def test_what_has_no_gradient_is_shown_forward(server):
    assert "array of shape (2,)" in formula(server, "[x, y]")["note"]
    assert "forward pass alone" in formula(server, "x > y")["note"]


@pytest.mark.parametrize(
    "text", ["[x]", "astype([x, y].mean(), z)", "(z ** y) ** (x / z)", "log(-x) / (0.0x)", "x.T > y"]
)
def test_a_page_for_unusual_formulas(server, text):
    """An array of one entry, a name from which nothing is computed, numbers that are none: warnings are errors here."""
    answer = formula(server, text, x=0.0, y=-2.5, z=-1.0)
    assert "error" not in answer
    _, _, page = ask(server, answer["page"])
    numbers = json.loads(page.partition('id="play-numbers" type="application/json">')[2].partition("<")[0])
    assert [leaf["name"] for leaf in numbers["leaves"]] == list(answer["values"])


def test_a_fault_of_ours_is_told(server, monkeypatch):
    monkeypatch.setattr(served, "play", lambda *given: 1 / 0)
    assert "which is a bug: ZeroDivisionError" in formula(server, "x*y")["error"]


def test_a_fault_of_ours_in_a_page_is_printed(server, monkeypatch, capfd):
    monkeypatch.setattr(served, "play", lambda *given: 1 / 0)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(server, f"save?{urlencode({'formula': 'x*y'})}")
    deadline = time.monotonic() + 10  # the server's thread prints after it closed the connection
    printed = ""
    while "ZeroDivisionError" not in printed and time.monotonic() < deadline:
        printed += capfd.readouterr().err
        time.sleep(0.01)
    assert "ZeroDivisionError" in printed


def test_saving_gives_one_file(server):
    query = urlencode({"formula": "x*y/2", "values": '{"x": 3}'})
    status, headers, page = ask(server, f"save?{query}")
    assert status == 200 and headers["Content-Disposition"] == 'attachment; filename="x-y-2.html"'
    assert page.startswith("<!doctype html>") and "play-numbers" not in page and server.token not in page


def test_every_answer_keeps_to_itself(server):
    for path in ("", "play.js", "sliders.js", "play.css"):
        status, headers, _ = ask(server, path)
        assert status == 200
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
        assert (
            headers["Referrer-Policy"] == "no-referrer" and "default-src 'none'" in headers["Content-Security-Policy"]
        )
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", ""])
def test_another_host_is_refused(server, host):
    """As after DNS rebinding: the address is ours, the name is not."""
    status, _, text = ask(server, headers={"Host": host.format(port=server.server_port)})
    assert status == 403 and server.token not in text


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "iframe"},
])  # fmt: skip
def test_another_site_is_refused(server, headers):
    assert ask(server, "formula", "POST", {"formula": "x*x", "values": {}}, headers)[0] == 403


@pytest.mark.parametrize("token", ["", "wrong", "é", "x" * 5000])
def test_a_wrong_token_finds_nothing(server, token):
    assert ask(server, token=token.encode().hex() if token == "é" else token)[0] == 404


@pytest.mark.parametrize("path", [
    "../play.js", "../../../../etc/passwd", "%2e%2e/server.py", "assets/play.js", "play.html", "server.py", "//", ".",
])  # fmt: skip
def test_no_path_leads_to_a_file(server, path):
    assert ask(server, path)[0] == 404
    assert ask(server, f"/{path}", raw=True)[0] == 404


def test_sizes_are_bounded(server):
    assert ask(server, "formula", "POST", b"x" * (LARGEST_BODY + 1))[0] == 413
    assert ask(server, "formula", "POST", b"{}", {"Content-Length": "99999999999999"})[0] == 413
    assert ask(server, "formula", "POST", b"", {"Content-Length": "-1"})[0] == 411
    assert "too long" in formula(server, "x+" * 2000 + "x")["error"]
    assert ask(server, "x" * 70_000)[0] == 414


@pytest.mark.parametrize("body", [
    b"", b"nonsense", b"[" * 20_000, b'{"formula": 1, "values": {}}', b'{"formula": "x*x"}', b"[]", b"\xff\xfe",
    json.dumps({"formula": "x*x", "values": {str(i): 1 for i in range(100)}}).encode(),
])  # fmt: skip
def test_what_is_no_request_is_refused(server, body):
    status, _, text = ask(server, "formula", "POST", body)
    assert status == 400 and "Traceback" not in text


def test_only_json_is_read(server):
    """Another site's form can send text, but not this type without asking first."""
    assert ask(server, "formula", "POST", b"{}", {"Content-Type": "text/plain"})[0] == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_other_methods_are_not_there(server, method):
    assert ask(server, "formula", method)[0] == 501


@pytest.mark.parametrize("number", [None, "2", [1], {}, True, float("nan"), 10**400, -1e301])
def test_numbers_that_are_none_are_left_out(server, number):
    answer = formula(server, "x*x", x=number)
    assert answer["values"]["x"] in (FIRST_NUMBERS[0], 1.0)


@pytest.mark.slow
def test_it_ends_when_its_page_is_closed():
    with Server() as server:
        server.start()
        ended = threading.Thread(target=server.wait, kwargs={"grace": 0.3}, daemon=True)
        ended.start()
        first, second = _stream(server), _stream(server)
        first.close()
        ended.join(0.6)
        assert ended.is_alive(), "one page is still open"
        second.close()
        third = _stream(server)  # a reload
        ended.join(0.6)
        assert ended.is_alive(), "it was opened again"
        third.close()
        ended.join(5)
        assert not ended.is_alive()
        server.shutdown()


def _stream(server):
    """The connection that an open page holds."""
    one = socket.create_connection(("127.0.0.1", server.server_port))
    one.sendall(f"GET /{server.token}/alive HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
    assert b"hello" in _until(one, b"hello")
    deadline = time.monotonic() + 5
    while not server.pages and time.monotonic() < deadline:
        time.sleep(0.01)
    return one


def _until(connection, text):
    found = b""
    while text not in found:
        found += connection.recv(1000)
    return found


def test_strangers_to_the_browser_are_told_by_policy():
    assert "frame-ancestors 'none'" in served.PAGE_POLICY and "unsafe" not in served.PAGE_POLICY
    assert "allow-same-origin" not in served.FRAME_POLICY and "connect-src" not in served.FRAME_POLICY
