"""From loose parts to a `Model`: names, tree, order of the joints, their places in q and v."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import ModelError, unknown_name
from .actuation import settled
from .joints import Ball, BallAgain, Fixed, Floating
from .types import STANDARD_GRAVITY, Frame, Joint, Link, LoopClosure, Mimic, Model


def assemble(
    name: str,
    links: Sequence[Link],
    joints: Sequence[Joint],
    *,
    frames: Sequence[Frame] = (),
    loops: Sequence[LoopClosure] = (),
    floating: bool = False,
    gravity: Sequence[float] = STANDARD_GRAVITY,
    standing: Mapping[str, Sequence[float]] | None = None,
    armature: bool = False,
) -> Model:
    """Check that the parts are one tree and number it.

    Args:
        floating: attach a root link without a joint to the world by a floating joint (the base) instead of rigidly.
        standing: joint positions of a standing posture, by joint name; joints not named stand at neutral.
    """
    require_unique("link", (link.name for link in links))
    require_unique("joint", (joint.name for joint in joints))
    links_by_name = {link.name: link for link in links}
    all_joints = _with_root_attached(links_by_name, list(joints), floating)
    _require_tree(links_by_name, all_joints)
    all_joints = settled(_numbered(_base_first(all_joints)))
    link_frames = [Frame(link.name, link.name) for link in links if not link.virtual]
    require_unique("frame", (frame.name for frame in [*link_frames, *frames]))
    for frame in frames:
        if frame.parent is not None and frame.parent not in links_by_name:
            raise unknown_name(f"link (parent of frame {frame.name!r})", frame.parent, links_by_name)
    return Model(
        name=name,
        links=links_by_name,
        joints={joint.name: joint for joint in all_joints},
        frames={frame.name: frame for frame in [*link_frames, *frames]},
        loops={loop.name: loop for loop in loops},
        nq=sum(joint.type.nq for joint in all_joints if joint.mimic is None),
        nv=sum(joint.type.nv for joint in all_joints if joint.mimic is None),
        gravity=tuple(float(g) for g in gravity),  # type: ignore[arg-type]
        standing={key: tuple(map(float, value)) for key, value in (standing or {}).items()},
        armature=armature,
    )


def reassemble(model: Model, change: Callable[[Joint], Joint], *, extra_frames: Sequence[Frame] = ()) -> Model:
    """The same robot with its joints changed one by one, and frames added."""
    changed = assemble(
        model.name,
        list(model.links.values()),
        [change(joint) for joint in model.joints.values()],
        frames=[*(f for f in model.frames.values() if f.name not in model.links), *extra_frames],
        loops=list(model.loops.values()),
        gravity=model.gravity,
        standing=model.standing,
        armature=model.armature,
    )
    return replace(changed, source=model.source)


def require_unique(kind: str, names: Iterable[str]) -> None:
    """Names are how users speak of parts; two parts of one name cannot be told apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"two {kind}s are named {name!r}; every {kind} needs a name of its own")
        seen.add(name)


def _with_root_attached(links: Mapping[str, Link], joints: list[Joint], floating: bool) -> list[Joint]:
    children = {joint.child for joint in joints}
    roots = [name for name in links if name not in children]
    if not roots:
        if any(joint.parent is None for joint in joints):
            return joints
        raise ModelError("the joints form a loop: every link is the child of some joint, so there is no root")
    if len(roots) > 1:
        raise ModelError(
            f"the description is not one tree: {len(roots)} links have no parent joint "
            f"({', '.join(map(repr, roots[:8]))}). Connect them to the root, with a floating joint if they move freely."
        )
    joint_type = Floating() if floating else Fixed()
    taken = {joint.name for joint in joints}
    name = "base" if "base" not in taken else f"{roots[0]}_to_world"
    while name in taken:
        name += "_"
    return [Joint(name, joint_type, None, roots[0]), *joints]


def _require_tree(links: Mapping[str, Link], joints: Sequence[Joint]) -> None:
    parent_joint: dict[str, Joint] = {}
    children: dict[str | None, list[str]] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link is not None and link not in links:
                raise unknown_name(f"link ({role} of joint {joint.name!r})", link, links)
        if joint.child in parent_joint:
            raise ModelError(
                f"link {joint.child!r} is the child of two joints, {parent_joint[joint.child].name!r} and "
                f"{joint.name!r}: "
                "the description has a loop. Equipoise reads trees; describe the loop as a constraint (MJCF "
                "<equality>)."
            )
        parent_joint[joint.child] = joint
        children.setdefault(joint.parent, []).append(joint.child)
    reached, front = 0, list(children.get(None, []))
    while front:
        reached += 1
        front.extend(children.get(front.pop(), []))
    if reached != len(links):
        lost = sorted(set(links) - _descendants(children))
        raise ModelError(f"the joints form a loop: no way leads from the root to {', '.join(map(repr, lost[:8]))}")


def _descendants(children: Mapping[str | None, Sequence[str]]) -> set[str]:
    seen: set[str] = set()
    front = list(children.get(None, []))
    while front:
        link = front.pop()
        seen.add(link)
        front.extend(children.get(link, []))
    return seen


def _base_first(joints: Sequence[Joint]) -> list[Joint]:
    """The first joint that floats in the world is the base and leads q; the others keep the order of the file."""
    base = next((j for j in joints if j.parent is None and isinstance(j.type, Floating)), None)
    return list(joints) if base is None else [base, *(j for j in joints if j is not base)]


def _numbered(joints: Sequence[Joint]) -> list[Joint]:
    by_name = {joint.name: joint for joint in joints}
    places: dict[str, tuple[slice, slice]] = {}
    iq = iv = 0
    for joint in joints:
        if joint.mimic is None:
            places[joint.name] = slice(iq, iq + joint.type.nq), slice(iv, iv + joint.type.nv)
            iq, iv = iq + joint.type.nq, iv + joint.type.nv
    resolved: dict[str, Mimic | None] = {}
    numbered = []
    for joint in joints:
        mimic = _resolve(joint, by_name, resolved)
        q, v = places[joint.name if mimic is None else mimic.leader]
        numbered.append(replace(joint, q=q, v=v, mimic=mimic))
    return numbered


def _resolve(joint: Joint, by_name: Mapping[str, Joint], resolved: dict[str, Mimic | None]) -> Mimic | None:
    """A mimic joint may follow another mimic joint; follow the chain to a joint with a coordinate of its own."""
    chain = [joint]
    while (mimic := chain[-1].mimic) is not None and chain[-1].name not in resolved:
        chain.append(_leader(chain[-1], mimic, by_name))
        if len(chain) > len(by_name):
            raise ModelError(f"joint {joint.name!r} mimics itself, by way of {chain[-1].name!r}")
    for follower in reversed(chain):
        own = follower.mimic
        if follower.name in resolved:
            continue
        before = None if own is None else resolved[own.leader]
        if own is not None and before is not None:
            own = Mimic(before.leader, own.multiplier * before.multiplier, own.multiplier * before.offset + own.offset)
        resolved[follower.name] = own
    return resolved[joint.name]


def _leader(joint: Joint, mimic: Mimic, by_name: Mapping[str, Joint]) -> Joint:
    leader = by_name.get(mimic.leader)
    if leader is None:
        raise unknown_name(f"joint (mimicked by {joint.name!r})", mimic.leader, by_name)
    one_coordinate = leader.type.nq == joint.type.nq == 1
    if not one_coordinate and not (isinstance(joint.type, BallAgain) and type(leader.type) is Ball):
        raise ModelError(
            f"joint {joint.name!r} ({joint.type.name}) mimics {leader.name!r} ({leader.type.name}): "
            "both must have exactly one coordinate"
        )
    return leader
