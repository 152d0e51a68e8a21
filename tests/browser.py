"""A page in headless Chromium, driven through the DevTools protocol: clicks, keys, sizes, and what went wrong."""

import base64
import contextlib
import itertools
import json
import re
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import websocket  # the distribution is called websocket-client

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-gpu-rasterization", "--disable-software-rasterizer",
    "--disable-quic", "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--remote-debugging-port=0",
    "--remote-allow-origins=*", "--disable-features=IsolateSandboxedIframes",
)  # fmt: skip
PATIENCE = 30  # seconds for the browser to answer
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "Enter": 13, "Escape": 27, "Tab": 9, " ": 32,
        "ArrowUp": 38, "ArrowDown": 40, "[": 219, "]": 221}  # fmt: skip


class Browser:
    """One tab. `errors` collects console errors and exceptions, `requests` every address it asked for."""

    def __init__(self, chromium):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [chromium, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self.errors, self.requests, self._loads = [], [], 0
        self._spent, self._origin = {}, ""  # of each process, by its id; where the open page is from
        self._socket = self._connect()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _connect(self):
        port_file = Path(self._profile.name, "DevToolsActivePort")
        deadline = time.monotonic() + PATIENCE
        while not (port_file.exists() and port_file.read_text().strip()):
            assert self._process.poll() is None and time.monotonic() < deadline, "Chromium did not start"
            time.sleep(0.05)
        self._server = f"http://127.0.0.1:{port_file.read_text().split()[0]}"
        while True:
            with urllib.request.urlopen(f"{self._server}/json") as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            if pages:
                address = pages[0]["webSocketDebuggerUrl"]  # each letter that it sends would be checked in Python
                return websocket.create_connection(address, timeout=PATIENCE, skip_utf8_validation=True)
            time.sleep(0.05)

    def call(self, method, **parameters):
        """One DevTools command and its answer."""
        return self._answer(method, self._ask(method, parameters))

    def _ask(self, method, parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        return number

    def _answer(self, method, number):
        deadline = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < deadline, f"{method} got no answer in {PATIENCE} s"
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self._note(message)

    def _note(self, message):
        parameters = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["exception"].get("description", "exception"))
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str([argument.get("value") for argument in parameters["args"]]))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message["method"] == "Page.loadEventFired":
            self._loads += 1

    def open(self, address, width=1366, height=768, dark=False, phone=False):
        """Load an address in a window of a size, also one that is open."""
        self.window(width, height, dark, phone)
        if address.startswith("file:"):  # never the address that is open: a new fragment alone would not load it
            address = re.sub(r"(\?\d+)?(?=#|$)", f"?{next(self._numbers)}", address, count=1)
        origin = address.split("/")[:3]
        if origin != self._origin:  # another process may draw it, and the one before end
            self.spent_beside()
            self._origin = origin
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def reload(self):
        """Load the open page again. Whoever asks a page that is about to leave gets an error: nobody asks before."""
        before = self._loads
        self.call("Page.reload")
        while self._loads == before:
            self._note(json.loads(self._socket.recv()))

    def window(self, width=1366, height=768, dark=False, phone=False):
        """Give the window of the open page another size, or its reader another taste."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                  {"name": "prefers-reduced-motion", "value": "reduce"}]  # fmt: skip
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def wait(self, condition, seconds=PATIENCE):
        """Until a JavaScript condition holds."""
        self.wait_until(lambda: self.js(f"!!({condition})"), condition, seconds)

    def wait_until(self, holds, what, seconds=PATIENCE):
        deadline, pause = time.monotonic() + seconds, 0.002
        while not holds():
            assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
            time.sleep(pause)
            pause = min(2 * pause, 0.05)  # most waits are short

    def js(self, expression):
        """The value of a JavaScript expression."""
        return self.js_later(expression)()

    def js_later(self, expression):
        """The page starts on an expression; the function that waits for its value. Nothing else is asked meanwhile."""
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        number = self._ask("Runtime.evaluate", asked)

        def value():
            result = self._answer("Runtime.evaluate", number)
            assert "exceptionDetails" not in result, result.get("exceptionDetails")
            return result["result"].get("value")

        return value

    def in_frame(self, expression):
        """The value of an expression inside the first frame of the page; None while there is none, or another comes."""
        frames = self.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
        if not frames:
            return None
        world = self.call("Page.createIsolatedWorld", frameId=frames[0]["frame"]["id"])
        asked = {"expression": expression, "returnByValue": True, "contextId": world["executionContextId"]}
        try:
            return self.call("Runtime.evaluate", **asked)["result"].get("value")
        except AssertionError as error:
            if "Cannot find context" not in str(error):
                raise
            return None

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector):
        """A real mouse click in the middle of an element."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, key):
        """A real key press."""
        code = KEYS.get(key, ord(key[0].upper()))
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        for character in text:
            self.call("Input.insertText", text=character)

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        made = self.call("Page.printToPDF", printBackground=True)
        Path(path).write_bytes(base64.b64decode(made["data"]))

    def spent_beside(self):
        """Seconds of processor time of what draws its pages. The system bills them to nobody: the browser does not wait
        for these processes to end."""
        with urllib.request.urlopen(f"{self._server}/json/version") as answer:
            address = json.load(answer)["webSocketDebuggerUrl"]
        with contextlib.closing(websocket.create_connection(address, timeout=PATIENCE)) as socket:
            socket.send(json.dumps({"id": 1, "method": "SystemInfo.getProcessInfo"}))
            found = json.loads(socket.recv())["result"]["processInfo"]
        self._spent |= {one["id"]: one["cpuTime"] for one in found if one["type"] != "browser"}
        return sum(self._spent.values())

    def close(self):
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        self._socket.close()
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._profile.cleanup()
