"""What all commands share: an outcome in words and as JSON, and files that are checked before the work, so that none of
it is lost where one cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..errors import EquipoiseError, require_packages
from ..files import require_writable, written_somewhere
from .tables import table

if TYPE_CHECKING:
    from ..simulate.goals import Check, Verdict
    from ..simulate.run import Run

MARK = {True: "[green]✓[/]", False: "[bold red]✗[/]"}
ENOUGH = 0.95  # part of the seeds that have to succeed


@dataclass(frozen=True)
class Outcome:
    """What a command answers.

    Attributes:
        text: printed at the end, also where nothing else is.
        data: the same as JSON data.
        good: False ends with exit code 1.
        then: called once the outcome is printed.
    """

    text: str
    data: Any
    good: bool = True
    then: Callable[[], object] | None = None

    def __bool__(self) -> bool:
        return self.good

    @classmethod
    def judged(cls, title: str, verdict: Verdict, files: dict[str, str] | None = None) -> Outcome:
        """How many checks hold, and which do not."""
        held, all_ = sum(check.good for check in verdict.checks), len(verdict.checks)
        reasons = "".join(f"; {reason}" for reason in verdict.reasons)
        data = {"title": title, **verdict.as_plain(), "files": files or {}}
        return cls(f"{title}: {held} of {all_} checks hold{reasons}", data, verdict.reached)


def file_outcome(what: str, path: Path) -> Outcome:
    """A command that wrote one file."""
    size = f" ({path.stat().st_size / 1e6:.1f} MB, opens in a browser)" if path.suffix == ".html" else ""
    return Outcome(f"{what}: {path.resolve()}{size}", {"file": str(path.resolve())})


def watched(console: Console) -> bool:
    """Whether somebody sees a progress bar."""
    return console.is_terminal and not console.quiet


def print_checks(console: Console, title: str, checks: Iterable[Check]) -> None:
    rows = [(MARK[check.good], escape(check.name), escape(check.came), escape(check.wanted)) for check in checks]
    console.print(table(escape(title), ["", "", "measured", "required"], rows, words=4))


def tried(
    console: Console, title: str, seeds: range, one: Callable[[int], tuple[Run, Verdict]], out: str | None
) -> Outcome:
    """Runs many seeds, prints a line for each; nineteen of twenty have to succeed."""
    from ..simulate.goals import Check, Verdict

    good, runs = 0, 0
    for seed in track(seeds, f"{len(seeds)} seeds", console=console, transient=True, disable=not watched(console)):
        run, verdict = one(seed)
        good, runs = good + verdict.reached, runs + 1
        if out is not None:
            path = Path(out)
            written_somewhere(path.with_name(f"{path.stem}-{seed}{path.suffix or '.npz'}"), run.save)
        console.print(
            f"seed {seed:3d}  {run.outcome}  {'; '.join(verdict.reasons)}".rstrip(), highlight=False, markup=False
        )
        if run.outcome == "interrupted":
            break
    enough = ENOUGH * len(seeds)
    check = Check("seeds", good >= enough, f"{good} of {runs} succeeded", f"{enough:g} of {len(seeds)}")
    return Outcome.judged(title, Verdict((check,)))


class RunOutputs:
    """Where a run and its report go.

    Args:
        out: file of the run. report: HTML file. others: further files that the command will write.
        seeds: how many runs there will be.

    Raises:
        EquipoiseError: one of them cannot be written.
    """

    def __init__(
        self, console: Console, out: str | None, report: str | None, *others: str | None, seeds: int = 1
    ) -> None:
        if seeds < 1:
            raise EquipoiseError(f"seeds is how many to try, 1 or more; got {seeds}")
        if seeds > 1 and report is not None:
            raise EquipoiseError("a report shows one run: leave out --seeds, or report a run that --out keeps")
        if report is not None:
            require_packages("view", "a report", "viser", "matplotlib")
        require_writable(out, report, *others)
        self.console, self.out, self.report = console, out, report

    def write(self, run: Run) -> dict[str, str]:
        """Writes what was asked for, the run first; returns the paths by what they hold.

        Raises:
            EquipoiseError: what could not be written, and where the run is now.
        """
        problems, files = [], {}
        if self.out is not None:
            try:
                files["run"] = self._told("run", written_somewhere(self.out, run.save))
            except EquipoiseError as error:
                problems.append(str(error))
        if self.report is not None:
            try:
                files["report"] = self._told("report", self._reported(run))
            except Exception as error:  # whatever a picture fails of, the run is not lost
                problems.append(f"no report was written to {self.report!r}: {error or type(error).__name__}")
                if self.out is None:
                    path = written_somewhere(Path(self.report).with_suffix(".npz"), run.save)
                    problems.append(f"the run is in {str(path)!r}")
        if problems:
            raise EquipoiseError("; ".join(problems))
        return files

    def _reported(self, run: Run) -> Path:
        from .report import report

        return report(run, str(self.report), progress=watched(self.console))

    def _told(self, what: str, path: Path) -> str:
        self.console.print(file_outcome(what, path).text, highlight=False, markup=False, soft_wrap=True)
        return str(path.resolve())
