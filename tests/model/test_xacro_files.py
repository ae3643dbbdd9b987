"""Xacro files: those of real robots expand, and none of them runs, reads or fills what its author likes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.model import installed
from equipoise.model.xacro_files import expanded

xacro = pytest.importorskip("xacro")
xacro_process = pytest.importorskip("equipoise.model.xacro_process")
ExpressionError, evaluate = xacro_process.ExpressionError, xacro_process.evaluate

ROBOT = (
    '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}<link name="a"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


def written(path: Path, inside: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROBOT.format(inside))
    return path


# --- what robots need -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*redefining global symbol:equipoise.ModelWarning")
@pytest.mark.parametrize("robot", ["hector", "thormang3"])
def test_xacro_of_real_robots_expands_as_xacro_does(robot):
    if robot == "hector":
        folder = installed.example_robots_folder()
        paths = [] if folder is None else sorted((folder / "hector_description").rglob("*.urdf.xacro"))
    else:
        folder = (
            Path(os.environ.get("EQUIPOISE_ROBOTS", "")).resolve() / robot
        )  # comments name the file as it was given
        paths = sorted(folder.rglob("*.structure.*.xacro")) if "EQUIPOISE_ROBOTS" in os.environ else []
    for path in paths:
        assert expanded(path, path.read_bytes()) == xacro.process_file(str(path)).toxml()
    if not paths:
        pytest.skip(f"no xacro files of {robot} here")


@pytest.mark.parametrize(
    "expression",
    [
        "-pi/2",
        "radians(90) if 1 < 2 else 0",
        "math.sqrt(2)**2 + 7 // 2 - 7 % 4 + 2**-1",
        "python.round(0.15, 1) == 0.1 or not False",
        "'left_arm'.split('_')[0] + 'x' * 2",
        "'%s_%03d' % ('leg', 7)",
        "[x + 1 for x, _ in python.zip([1, 2, 3], 'abc') if x > 1]",
        "python.sum(map(float, '1 2 3'.split()))",
        "sorted([3, 1, 2], reverse=True)[::2]",
        "dict(a=dict(b=4))['a'].get('b') * len(xacro.tokenize('a, b'))",
        "max(range(3)) in [2] and python.isinstance('x', (str, int))",
        "0 < 1 < 2 <= 3 and (1, 'a') != (1, 'b')",
    ],
)
def test_expressions_have_the_values_that_xacro_gives_them(expression):
    wanted = xacro.safe_eval(expression, xacro.create_global_symbols())
    assert repr(evaluate(expression, xacro_process._symbols(None))) == repr(wanted)


def test_files_of_the_robot_are_read(tmp_path):
    """A package with its YAML and its parts in folders of their own, and a namespace of an include."""
    (tmp_path / "p" / "config").mkdir(parents=True)
    (tmp_path / "p" / "package.xml").write_text("<package/>")
    (tmp_path / "p" / "config" / "arm.yaml").write_text("arm: {name: upper, lengths: [1, 2]}\n")
    written(tmp_path / "p" / "urdf" / "parts" / "part.xacro", '<xacro:property name="k" value="${2*3}"/>')
    main = written(
        tmp_path / "p" / "urdf" / "r.xacro",
        '<xacro:include filename="parts/part.xacro" ns="part"/>'
        '<xacro:property name="c" value="${xacro.load_yaml(\'../config/arm.yaml\')}"/>'
        "<link name=\"${c.arm.name}_${c['arm'].lengths[1]}_${part.k}\"/>",
    )
    assert "upper_2_6" in expanded(main, main.read_text())


def test_packages_are_found_by_name_even_through_links(tmp_path, monkeypatch):
    """As an installed workspace has them; their names are names."""
    module = "def get_package_share_directory(name):\n    return {!r} + '/' + name\n".format(str(tmp_path / "share"))
    (tmp_path / "ament_index_python").mkdir()
    (tmp_path / "ament_index_python" / "__init__.py").touch()
    (tmp_path / "ament_index_python" / "packages.py").write_text(module)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    part = written(tmp_path / "src" / "part.xacro", '<link name="found"/>')
    (tmp_path / "share" / "other").mkdir(parents=True)
    (tmp_path / "share" / "other" / "part.xacro").symlink_to(part)
    main = written(tmp_path / "mine" / "r.xacro", '<xacro:include filename="$(find other)/part.xacro"/>')
    assert '<link name="found"/>' in expanded(main, main.read_text())
    for name in ("../src", "other/../../src", "."):
        main = written(tmp_path / "mine" / "r.xacro", f'<xacro:include filename="$(find {name})/part.xacro"/>')
        with pytest.raises(eq.ModelError, match="is not the name of a package"):
            expanded(main, main.read_text())


def test_what_xacro_prints_is_a_warning(tmp_path):
    main = written(tmp_path / "r.xacro", '<xacro:property name="pi" value="3"/>${xacro.warning("\\x1b]0;x\\x07")}')
    with pytest.warns(eq.ModelWarning, match="r.xacro: xacro says: .*redefining global symbol: pi") as told:
        expanded(main, main.read_text())
    assert all(str(warning.message).isprintable() for warning in told)


# --- what nobody's robot needs ----------------------------------------------------------------------------------------

CLOSED = [
    "(lambda f: f)(len)('abc')",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "().__class__",
    "''.\uff3f\uff3fclass\uff3f\uff3f",  # Python reads these letters as underscores
    "'{0.__class__}'.format(1)",
    "'abc'.format_map(1)",
    "len.call.__globals__",
    "(x for x in [1]).gi_frame.f_builtins",
    "[1].append(2)",
    "math.__loader__",
    "math.update(pi=4)",
    "xacro.root",
    "python.vars()",
    "python.type(1)",
    "__builtins__",
    "eval('1')",
    "open('/etc/hostname')",
    "str.mro()",
    "dict(**dict(a=1))",
    "len(*[[1]])",
    "[y := 1]",
    "max([1, 2], key=lambda x: -x)",
    "sorted([1], key='x')",
    "f'{1}'",
    "map(str.join, [1])",
]


@pytest.mark.parametrize("expression", CLOSED)
def test_expressions_that_lead_to_python_are_refused(expression):
    names = xacro_process._symbols(None)
    before = {name: dict(value) if isinstance(value, dict) else value for name, value in names.items()}
    with pytest.raises((ExpressionError, NameError, SyntaxError, TypeError)):
        evaluate(expression, names)
    assert names == before


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**8", "2**10**9", "1 << 10**9", "'x' * 10**10", "[0] * 10**9", "range(10**9)", "'%99999999d' % 1",
        "'%(a)99999999d' % dict(a=1)", "math.factorial(10**7)", "9" * 400,
        "[x for x in range(99999) for y in range(99999)]",
        "(" * 150 + "1" + ")" * 150 + "+1" * 9000, "'" + "a" * 1000 + "'.replace('a', 'a' * 1000)",
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_expressions_have_bounded_size_and_time(expression):
    start = time.monotonic()
    with pytest.raises((ExpressionError, NameError)):
        evaluate(expression, xacro_process._symbols(None))
    assert time.monotonic() - start < 10


def test_the_time_of_xacro_itself_is_bounded(tmp_path):
    """Macros that call each other twice, forty deep; no expression among them."""
    macros = (
        "".join(f'<xacro:macro name="m{k}"><xacro:m{k + 1}/><xacro:m{k + 1}/></xacro:macro>' for k in range(40))
        + '<xacro:macro name="m40"><link name="x"/></xacro:macro><xacro:m0/>'
    )
    main = written(tmp_path / "r.xacro", macros)
    with pytest.raises(eq.ModelError, match="ended without a result .it may use 1 s"):
        expanded(main, main.read_text(), seconds=1)


def escape(command: str) -> str:
    """An expression that gets past xacro's own check, which does not look into the code of lambdas."""
    classes = "().__class__.__base__.__subclasses__()"
    found = f"[c for c in {classes} if c.__name__ == '_wrap_close'][0]"
    return f"(lambda: {found}.__init__.__globals__['system']('{command}'))()"


@pytest.mark.parametrize("where", ["property", "include", "macro", "yaml"])
def test_files_run_no_commands(tmp_path, where):
    """Wherever the expression stands; each of these runs the command where xacro evaluates it."""
    attack = escape(f"touch {tmp_path / 'mark'}")
    inside = f'<xacro:property name="v" value="${{{attack}}}"/><link name="${{v}}"/>'
    if where == "include":
        written(tmp_path / "part.xacro", inside)
        inside = '<xacro:include filename="part.xacro"/>'
    elif where == "macro":
        inside = f'<xacro:macro name="m" params="x:=${{{attack}}}"><link name="${{x}}"/></xacro:macro><xacro:m/>'
    elif where == "yaml":
        (tmp_path / "a.yaml").write_text(f"angle: !degrees {attack!r}\n".replace("\\'", "''"))
        inside = "<link name=\"${xacro.load_yaml('a.yaml').angle}\"/>"
    with pytest.raises(eq.ModelError, match=r"r\.xacro: xacro cannot expand it: .*(Lambda is not used|line)"):
        eq.load(written(tmp_path / "r.xacro", inside))
    assert not (tmp_path / "mark").exists()


READ = {
    "absolute": "<link name=\"${load_yaml('/etc/hostname')}\"/>",
    "above": "<link name=\"${load_yaml('../secret.yaml')}\"/>",
    "by link": "<link name=\"${load_yaml('link.yaml')}\"/>",
    "included": '<xacro:include filename="../secret.xacro"/>',
    "by pattern": '<xacro:include filename="../secret.*"/>',
    "by a pattern of the whole disk": '<xacro:include filename="/*/*/*/*/*/*.xacro"/>',
    "by eval": '<xacro:include filename="$(eval dirname)/../secret.xacro"/>',
}


@pytest.mark.parametrize("what", READ)
def test_files_elsewhere_are_not_read(tmp_path, what):
    (tmp_path / "secret.yaml").write_text("word\n")
    written(tmp_path / "secret.xacro", "")
    main = written(tmp_path / "mine" / "r.xacro", READ[what])
    (main.parent / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(eq.ModelError, match="lies outside of the robot's folder|cannot expand it") as caught:
        eq.load(main)
    assert "word" not in str(caught.value)


def test_parts_are_included_by_a_pattern(tmp_path):
    for name in "ab":
        written(tmp_path / "parts" / f"{name}.xacro", f'<link name="part_{name}"/>')
    main = written(tmp_path / "r.xacro", '<xacro:include filename="parts/*.xacro"/>')
    assert all(f"part_{name}" in expanded(main, main.read_text()) for name in "ab")


@pytest.mark.parametrize("what", ["fifo.yaml", "fifo.xacro", "bomb.yaml", "entities.xacro"])
def test_files_of_the_robot_are_read_within_bounds(tmp_path, what):
    for name in ("fifo.yaml", "fifo.xacro"):
        os.mkfifo(tmp_path / name)
    lines = ["a0: &a0 [x, x]"] + [f"a{k + 1}: &a{k + 1} [*a{k}, *a{k}]" for k in range(40)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    (tmp_path / "entities.xacro").write_text('<!DOCTYPE robot [<!ENTITY a "b">]>' + ROBOT.format(""))
    read = f"${{load_yaml('{what}')}}" if what.endswith("yaml") else ""
    inside = f'<link name="{read}"/>' if read else f'<xacro:include filename="{what}"/>'
    with pytest.raises(eq.ModelError, match="is not a file|stands for more than|DOCTYPE"):
        eq.load(written(tmp_path / "r.xacro", inside))


def test_a_xacro_that_evaluates_elsewhere_is_not_used(monkeypatch):
    """A later version whose evaluation has another name runs no file."""
    monkeypatch.setattr(xacro, "eval_text", lambda text, symbols: 1)
    with pytest.raises(ExpressionError, match="this version of xacro"):
        xacro_process._require_hooks()
