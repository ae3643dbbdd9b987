"""A headless Chromium, driven through its DevTools protocol: open a page, run JavaScript in it, click, take a
picture."""

from __future__ import annotations

import base64
import io
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Array = np.ndarray
NAMES = ("chromium", "chromium-browser", "google-chrome")
# WebGL without a graphics card
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars",
)  # fmt: skip


def chromium() -> str:
    """Path of the browser; skips where there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium here: install it with `apt-get install chromium` to run the tests in a real browser")


class Browser:
    """One window. Use it in a `with` block."""

    def __init__(self, width: int = 900, height: int = 700) -> None:
        from websockets.sync.client import connect

        self.folder = tempfile.TemporaryDirectory(prefix="equipoise-browser-", ignore_cleanup_errors=True)
        arguments = [chromium(), *FLAGS, f"--user-data-dir={self.folder.name}", "--remote-debugging-port=0"]
        arguments += [f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._socket = connect(self._address(), max_size=None, proxy=None)
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        size = dict(width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setDeviceMetricsOverride", **size)

    session: str | None = None
    patience: float = 120.0  # s, for one answer

    def _address(self) -> str:
        port = Path(self.folder.name) / "DevToolsActivePort"
        wait_for(lambda: port.is_file() and len(port.read_text().split()) == 2, "Chromium to start", 60)
        number, path = port.read_text().split()
        return f"ws://127.0.0.1:{number}{path}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=self.patience))
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def open(self, url: str) -> None:
        self.close_page()
        self.call("Page.navigate", url=url)

    def close_page(self) -> None:
        """Leave the page, and forget what it said."""
        self.call("Page.navigate", url="about:blank")
        self.evaluate("1")
        self.events.clear()

    def evaluate(self, script: str) -> Any:
        """Value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self) -> Array:
        """What a person would see, (height, width, 3) of bytes."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def mouse(self, kind: str, x: float, y: float, pressed: bool = False) -> None:
        held = dict(button="left", buttons=1, clickCount=1) if pressed or kind == "mouseReleased" else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Press, move, release."""
        self.mouse("mouseMoved", *start)
        time.sleep(0.3)
        self.mouse("mousePressed", *start, pressed=True)
        for s in np.linspace(0, 1, steps + 1)[1:]:
            self.mouse("mouseMoved", *(np.array(start) + s * (np.array(end) - start)), pressed=True)
            time.sleep(0.05)
        self.mouse("mouseReleased", *end)

    def requests(self) -> list[str]:
        """Addresses the page asked for, whatever came back."""
        self.evaluate("1")
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [parameters["request"]["url"] for parameters in sent]

    def complaints(self) -> list[str]:
        """Errors in the page's console."""
        self.evaluate("1")
        thrown = [
            e["params"]["exceptionDetails"]["text"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"
        ]
        logged = [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded"]
        return thrown + [entry["text"] for entry in logged if entry["level"] == "error"]


def wait_for(condition: Any, what: str, seconds: float = 30.0) -> Any:
    """The condition's value as soon as it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds} s for {what}")
