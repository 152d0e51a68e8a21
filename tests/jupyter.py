"""A JupyterLab of its own, with one notebook in it, run in a browser."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

# A command given before the kernel is connected is lost, and JupyterLab may ask which kernel to start.
RUN_UNTIL_SHOWN = """(() => {
    document.querySelector('.jp-Dialog .jp-mod-accept')?.click();
    const ready = window.jupyterapp && document.querySelector('.jp-CodeCell');
    if (ready && Date.now() - (window.askedAt || 0) > 6000) {
        window.askedAt = Date.now();
        jupyterapp.commands.execute('notebook:run-all-cells');
    }
    return document.querySelector(%s);
})()"""


@contextlib.contextmanager
def jupyterlab(folder, source, chromium, shown, received=None):
    """A browser in which the cells of `source` (Python, percent format) have run, and the server's address; it waits
    until there is an element `shown`. `received` is a notebook of somebody else's, work/received.ipynb."""
    from tests.browser import Browser  # which needs a package that not every machine has

    with _server(folder, source, received) as lab:
        browser = Browser(chromium)
        try:
            browser.open(f"{lab}/lab/tree/one.ipynb", width=1400, height=1000)
            browser.wait(RUN_UNTIL_SHOWN % json.dumps(shown), 90)
            yield browser, lab
        finally:
            browser.close()


@contextlib.contextmanager
def _server(folder, source, received=None):
    pytest.importorskip("jupyterlab")
    jupytext = pytest.importorskip("jupytext")
    notebook = jupytext.reads(source, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (folder / "work").mkdir()
    jupytext.write(notebook, folder / "work" / "one.ipynb")
    if received is not None:
        jupytext.write(received, folder / "work" / "received.ipynb")
    settings = folder / "config" / "labconfig"
    settings.mkdir(parents=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (settings / "page_config.json").write_text(json.dumps(quiet), encoding="utf-8")
    port = _free_port()
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "run"), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--port-retries=0", "--allow-root",
         "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder / 'work'}",
         "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api"):
                break
            assert server.poll() is None and time.monotonic() < deadline, "JupyterLab did not start"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
