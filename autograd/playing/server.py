"""The server of `handgrad play`: one page, for this computer and this user only.

It listens on the loopback address at a port that was free, and every address begins with a random token, so that other
programs and other pages in the browser cannot guess it. It answers only what names it as its host (a page that rebinds
its own domain to 127.0.0.1 does not) and refuses requests that another site started. It reads no file by name and runs
nothing: what is typed reaches `playing.parser`, which knows numbers, names and ops.

It ends with Ctrl-C, or when the page is closed: the page holds one connection open (`alive`).
"""

from __future__ import annotations

import contextlib
import hmac
import json
import math
import re
import secrets
import select
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .formula import FormulaError
from .page import Play, file, play, playground, style

HOST = "127.0.0.1"
LARGEST_BODY = 64 * 1024  # bytes of a request
MOST_NAMES = 64
KEPT = 6  # pages that a frame may still ask for
GRACE = 3.0  # seconds after the last page was closed: a reload opens it again
PATIENCE = 20.0  # seconds for a request to arrive whole

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The stepper's page has its script in it, and is shown in a frame without an origin: it can send nothing anywhere.
FRAME_POLICY = (
    "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


class Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """A playground. `address` is where it is; `wait()` returns when its page has been closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), Handler)
        self.token = secrets.token_urlsafe(24)
        self.pages = 0  # that are open
        self.working = threading.Lock()  # one formula is computed at a time
        self.made: dict[str, str] = {}  # the latest pages, by number
        self._change = threading.Condition()
        self._was_open = False

    @property
    def host(self) -> str:
        return f"{HOST}:{self.server_port}"

    @property
    def address(self) -> str:
        return f"http://{self.host}/{self.token}/"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def wait(self, grace: float = GRACE) -> None:
        """Until a page was open and all have been closed for a while."""
        with self._change:
            while True:
                self._change.wait_for(lambda: self._was_open and self.pages == 0)
                if not self._change.wait_for(lambda: self.pages > 0, timeout=grace):
                    return

    @contextlib.contextmanager
    def open_page(self) -> Any:
        self._count(+1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._change:
            self.pages += change
            self._was_open = True
            self._change.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, except a browser that closes the connection in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE
    server_version, sys_version = "handgrad", ""

    def do_GET(self) -> None:
        self._answer({
            "": lambda: self._send(playground(), "text/html", PAGE_POLICY),
            "play.css": lambda: self._send(style(), "text/css"),
            "play.js": lambda: self._send(file("play.js"), "text/javascript"),
            "sliders.js": lambda: self._send(file("sliders.js"), "text/javascript"),
            "stepper": self._stepper,
            "save": self._save,
            "alive": self._stay,
        })  # fmt: skip

    def do_POST(self) -> None:
        self._answer({"formula": self._formula})

    # --- who may ask -----------------------------------------------------------------------------------------------

    def _answer(self, routes: dict[str, Callable[[], None]]) -> None:
        try:
            self._refuse_strangers()
            self._route(routes)()
        except Refused as refused:
            self._send(f"{refused}\n", "text/plain", status=refused.status)
        except FormulaError as error:
            self._send(f"{error}\n", "text/plain", status=HTTPStatus.BAD_REQUEST)

    def _refuse_strangers(self) -> None:
        here = f"http://{self.server.host}"
        if self.headers.get_all("Host") != [self.server.host]:
            raise Refused(HTTPStatus.FORBIDDEN, f"this server is {here}")
        if self.headers.get("Origin", here) != here:
            raise Refused(HTTPStatus.FORBIDDEN, "another site may not ask")
        page = self.headers.get("Sec-Fetch-Dest", "document") == "document"  # a link to it may stand anywhere
        if not page and self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "another site may not ask")

    def _route(self, routes: dict[str, Callable[[], None]]) -> Callable[[], None]:
        """What answers a path `/token/name`; there are no others."""
        empty, _, rest = urlsplit(self.path).path.partition("/")
        token, _, name = rest.partition("/")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        if empty or not known or name not in routes:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here; use the address that handgrad play printed")
        return routes[name]

    # --- what is asked ---------------------------------------------------------------------------------------------

    def _formula(self) -> None:
        """What a formula is: its names and numbers, its code, a page to show; or what is wrong with it, and where."""
        asked = self._body()
        answer: dict[str, Any]
        try:
            answer = self._computed(asked, self._played)
        except FormulaError as error:
            answer = {"error": str(error), "at": error.at, "end": error.end}
        except Refused:
            raise
        except Exception as error:  # a fault of ours; the page stays, and says so
            answer = {
                "error": f"handgrad failed here, which is a bug: {type(error).__name__}: {error}",
                "at": 0,
                "end": 1,
            }
        self._send(json.dumps(answer), "application/json")

    def _played(self, found: Play) -> dict[str, Any]:
        made, number = self.server.made, secrets.token_hex(4)
        made[number] = found.page()
        for old in list(made)[:-KEPT]:
            del made[old]
        return {"values": found.values, "note": found.note, "code": found.code(), "page": f"stepper?{number}"}

    def _stepper(self) -> None:
        page = self.server.made.get(urlsplit(self.path).query)
        if page is None:
            raise Refused(HTTPStatus.NOT_FOUND, "this page is no longer kept")
        self._send(page, "text/html", FRAME_POLICY)

    def _save(self) -> None:
        asked = self._query()
        page = self._computed(asked, lambda played: played.stepper().html())
        name = re.sub(r"[^A-Za-z0-9]+", "-", str(asked["formula"])).strip("-")[:40] or "formula"
        self._send(page, "text/html", FRAME_POLICY, {"Content-Disposition": f'attachment; filename="{name}.html"'})

    def _stay(self) -> None:
        """An answer that goes on until the page is closed."""
        self.send_response(HTTPStatus.OK)
        self._headers("text/event-stream")
        self.wfile.write(b": hello\n\n")
        with self.server.open_page():
            while not self._is_gone():
                self.wfile.write(b": here\n\n")

    def _is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 1.0)
        try:
            return bool(readable) and not self.connection.recv(1024)
        except OSError:
            return True

    # --- reading and writing ---------------------------------------------------------------------------------------

    def _computed(self, asked: Any, use: Callable[[Play], Any]) -> Any:
        formula, values = _checked(asked)
        with self.server.working:
            return use(play(formula, values))

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "say how long it is")
        if int(length) > LARGEST_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST_BODY} bytes")
        if self.headers.get_content_type() != "application/json":  # which another site's form cannot send
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON")
        return _json(self.rfile.read(int(length)))

    def _query(self) -> Any:
        asked = parse_qs(urlsplit(self.path).query, max_num_fields=4)
        return {"formula": asked.get("formula", [""])[0], "values": _json(asked.get("values", ["{}"])[0])}

    def _send(
        self, text: str, kind: str, policy: str = "default-src 'none'", more: dict[str, str] | None = None,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:  # fmt: skip
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self._headers(
            f"{kind}; charset=utf-8",
            {"Content-Length": str(len(body)), "Content-Security-Policy": policy} | (more or {}),
        )
        self.wfile.write(body)

    def _headers(self, kind: str, more: dict[str, str] | None = None) -> None:
        always = {
            "Content-Type": kind, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
        }  # fmt: skip
        for name, value in (always | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal shows the command's own output."""


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(HTTPStatus.BAD_REQUEST, "this is not JSON") from None


def _checked(asked: Any) -> tuple[str, dict[str, float]]:
    """A formula and numbers, whatever was sent."""
    formula = asked.get("formula") if isinstance(asked, dict) else None
    values = asked.get("values") if isinstance(asked, dict) else None
    if not isinstance(formula, str) or not isinstance(values, dict) or len(values) > MOST_NAMES:
        raise Refused(HTTPStatus.BAD_REQUEST, 'expected {"formula": text, "values": {name: number}}')
    numbers = {
        name: float(x) for name, x in values.items()
        if isinstance(x, int | float) and abs(x) < 1e300 and math.isfinite(x)
    }  # fmt: skip
    return formula, numbers


def address_of(server: Server, formula: str = "", values: dict[str, float] | None = None) -> str:
    """The address of the page, with a formula in it."""
    asked = urlencode({"formula": formula, "values": json.dumps(values or {})})
    return server.address + (f"#{asked}" if formula else "")
