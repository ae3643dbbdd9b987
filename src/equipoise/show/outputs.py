"""The files of a command that simulates: checked before the work, and none of the work lost where one cannot be
written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..errors import EquipoiseError, require_packages
from ..files import require_writable, written_somewhere

if TYPE_CHECKING:
    from ..simulate.run import Run


class RunOutputs:
    """Where a run and its report go.

    Args:
        out: file of the run. report: HTML file. others: further files that the command will write.

    Raises:
        EquipoiseError: one of them cannot be written.
    """

    def __init__(
        self, console: Console, out: str | None, report: str | None, *others: str | None, quiet: bool = False
    ) -> None:
        if report is not None:
            require_packages("view", "a report", "viser", "matplotlib")
        require_writable(out, report, *others)
        self.console, self.out, self.report, self.quiet = console, out, report, quiet

    def write(self, run: Run, title: str) -> None:
        """Writes what was asked for, the run first.

        Raises:
            EquipoiseError: what could not be written, and where the run is now.
        """
        problems = []
        if self.out is not None:
            try:
                self._tell("run", written_somewhere(self.out, run.save))
            except EquipoiseError as error:
                problems.append(str(error))
        if self.report is not None:
            try:
                self._tell("report", self._reported(run, title))
            except Exception as error:  # whatever a picture fails of, the run is not lost
                problems.append(f"no report was written to {self.report!r}: {error or type(error).__name__}")
                if self.out is None:
                    path = written_somewhere(Path(self.report).with_suffix(".npz"), run.save)
                    problems.append(f"the run is in {str(path)!r}")
        if problems:
            raise EquipoiseError("; ".join(problems))

    def _reported(self, run: Run, title: str) -> Path:
        from .report import report

        progress = not self.quiet and self.console.is_terminal
        return report(run, str(self.report), title=title, progress=progress)

    def _tell(self, what: str, path: Path) -> None:
        size = f" ({path.stat().st_size / 1e6:.1f} MB, opens in a browser)" if what == "report" else ""
        if not self.quiet:
            self.console.print(f"{what}: {path.resolve()}{size}", highlight=False, soft_wrap=True)
