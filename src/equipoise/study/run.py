"""`eq.study`: the same function over many parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import require_packages
from ..simulate.interruption import interruption_deferred
from . import engines
from .parameters import Parameters, rows_of
from .store import Store, StudyWarning
from .table import INTERRUPTED, Record, Table
from .task import Function, Job, name_of, require_fit, source_digest


def study(
    function: Function,
    parameters: Parameters,
    engine: str = "local",
    *,
    workers: int | None = None,
    scheduler: object = None,
    folder: str | Path | None = None,
    resume: bool = True,
    retry_failed: bool = False,
    progress: bool = True,
) -> Table:
    """Call a function with every set of parameters and return all results as a table.

    A run that raises is recorded as failed, with its message; the others go on. With a folder, every run is on disk as
    soon as it ends: call again with the same function, parameters and folder after a crash, and only what is missing is
    done. Ctrl-C ends the study, not the program: the table then has all runs, those that were not done as failed.

    Args:
        function: called as `function(**parameters)`; returns a mapping from names to numbers or short texts, or one of
            these.
        parameters: a `Grid`, `Draws`, a mapping from names to lists (a grid), or a list of mappings.
        engine: "local" (processes of this machine) or "dask".
        workers: how many processes; all cores if None. 1 runs in this process.
        scheduler: address or `Client` of a Dask cluster; a cluster of this machine is started if None.
        folder: where the study is stored; only in memory if None.
        resume: go on where the folder's study stopped; False: a study that is there is an error.
        retry_failed: do the runs again that failed before.
        progress: show a bar on the terminal.

    Raises:
        StudyError: the folder is of another study, the function does not take these parameters, no workers can be had.
    """
    rows = rows_of(parameters)
    require_fit(function, rows[0])
    name = name_of(function)
    require_packages("study", "a study", "pandas")
    with Store(folder, name, rows, source_digest(function), resume=resume) as store:
        if retry_failed:
            store.done = {run: record for run, record in store.done.items() if not record.failure}
        jobs = [Job(k, row) for k, row in enumerate(rows) if k not in store.done]
        with _bar(progress, len(rows), list(store.done.values())) as tick:
            if jobs:
                running = engines.records(engine, function, jobs, workers=workers, scheduler=scheduler)
                _collect(running, store, tick)
        left = [Record(k, row, {}, 0.0, INTERRUPTED) for k, row in enumerate(rows) if k not in store.done]
        table = Table.of([*store.done.values(), *left], name)
        if not left:
            store.finish(table)
    return table


def _collect(running: Iterator[Record], store: Store, tick: Callable[[Record], None]) -> None:
    """Stores records as they come. Ctrl-C ends the study; what has come is stored, and warnings are passed on."""
    interrupted = False
    try:
        for record in running:
            with interruption_deferred() as interruption:
                store.add(record)
                interrupted = interruption.asked
            for text in record.notes:
                warnings.warn(text, StudyWarning, stacklevel=3)
            tick(record)
            if interrupted:
                break
    except KeyboardInterrupt:
        pass
    finally:
        getattr(running, "close", lambda: None)()


@contextmanager
def _bar(progress: bool, total: int, done: list[Record]) -> Iterator[Callable[[Record], None]]:
    """A bar on the terminal, or nothing."""
    if not progress:
        yield lambda record: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    failed = sum(bool(record.failure) for record in done)
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, completed=len(done))

        def tick(record: Record) -> None:
            nonlocal failed
            failed += bool(record.failure)
            bar.update(task, advance=1, description=f"[red]{failed} failed" if failed else "")

        yield tick
