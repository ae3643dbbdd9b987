"""A viser server that sends nothing and remembers what it was told."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class Node:
    """A thing in the scene or the panel; its attributes are those that it was made with and those set later."""

    def __init__(self, kind: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.kind, self.given, self.listeners = kind, given, {}
        self.visible, self.position, self.wxyz = True, np.zeros(3), np.array([1.0, 0, 0, 0])
        if kind in ("add_line_segments", "add_arrows"):
            self.points = given[1]
        if kind == "add_mesh_simple":
            self.vertices, self.faces = given[1], given[2]
        vars(self).update(named)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda act: self.listeners.setdefault(name, act)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def remove(self) -> None:
        self.kind = "removed"

    def told(self) -> dict[str, Any]:
        given = [x for k, x in enumerate(self.given) if k > 0 and not (self.kind == "add_mesh_simple" and k < 3)]
        own = {k: v for k, v in vars(self).items() if k not in ("kind", "given", "listeners") and not callable(v)}
        return {"kind": self.kind, "given": given, "listens": sorted(self.listeners), **own}


class Maker:
    """Where nodes are made, by any method named add_…; other methods are remembered too."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.told: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Node:
            if not name.startswith("add_"):
                self.told.append([name, list(given), named])
                return Node(name, given, named)
            key = str(given[0]) if given and given[0] else name
            while key in self.nodes and self.nodes[key].kind != "removed":
                key += "'"
            self.nodes[key] = Node(name, given, named)
            return self.nodes[key]

        return call


class FakeServer:
    """`scene`, `gui` and the camera of a viser server."""

    def __init__(self) -> None:
        self.scene, self.gui, self.initial_camera = Maker(), Maker(), SimpleNamespace()
        self.scripts: list[str] = []  # that its pages are to run
        self.gui._websock_interface = SimpleNamespace(queue_message=lambda message: self.scripts.append(message.source))

    @contextmanager
    def atomic(self):
        yield

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None

    def data(self) -> dict[str, Any]:
        """All nodes as they are now."""
        return {
            "scene": {key: node.told() for key, node in self.scene.nodes.items()},
            "gui": {key: node.told() for key, node in self.gui.nodes.items()},
            "told": [*self.scene.told, *self.gui.told],
            "camera": vars(self.initial_camera),
        }
