"""Where the runs are done: in this process, in worker processes of this machine (loky), or on a Dask cluster.

Both kinds of workers are reached through an executor, as `concurrent.futures` defines it. A worker that dies takes no
run with it: its runs are done again elsewhere, and only one that kills its worker each time is recorded as failed.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..errors import require_packages, unknown_name
from .parameters import StudyError
from .table import Record
from .task import Function, Job, do, do_packed, packed

ENGINES = ("local", "dask")
TRIES = 3  # of a run whose worker dies each time
AHEAD = 4  # runs waiting on a cluster for each thread of it
KILLED = "its worker died each time it was tried: killed, out of memory, or a crash in compiled code"
THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")  # …_NUM_THREADS of a worker: 1

Pool = tuple[Executor, int, Any]  # with the number of runs it is given ahead, and the error of a run that kills workers
Start = Callable[[], AbstractContextManager[Pool]]


def records(
    engine: str, function: Function, jobs: Sequence[Job], *, workers: int | None = None, scheduler: object = None
) -> Iterator[Record]:
    """Yields the records of all jobs, in the order in which they end."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if workers is not None and (workers != int(workers) or workers < 1):
        raise StudyError(f"workers is a whole number, 1 or more; got {workers!r}")
    if scheduler is not None and engine != "dask":
        raise StudyError("a scheduler is for engine='dask'; the local engine has none")
    if scheduler is not None and workers is not None:
        raise StudyError("workers cannot be chosen here: the cluster of the scheduler has its own")
    count = workers or _cores()
    if engine == "dask":
        require_packages("study", "a study on a Dask cluster", "distributed")
        return _spread(functools.partial(_dask, count, scheduler), packed(function), jobs)
    if min(count, len(jobs)) <= 1:
        return (do(function, job) for job in jobs)  # in this process, where a debugger can follow
    data = packed(function)
    require_packages("study", "a study on several workers", "loky")
    return _spread(functools.partial(_local, min(count, len(jobs))), data, jobs)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _spread(start: Start, data: bytes, jobs: Sequence[Job]) -> Iterator[Record]:
    """Yields records as they come; each job is sent once, and again if its worker dies."""
    waiting = iter(jobs)
    suspects = yield from _until_broken(start, data, waiting)
    while suspects:  # a pool breaks as a whole and does not say which run killed a worker: each is tried alone
        for job in suspects:
            for _ in range(TRIES - 1):
                if not (yield from _until_broken(start, data, iter([job]))):
                    break
            else:
                yield Record(job.run, job.parameters, {}, 0.0, KILLED)
        suspects = yield from _until_broken(start, data, waiting)


def _until_broken(start: Start, data: bytes, waiting: Iterator[Job]) -> Any:
    """Yields records until no job is left or a dead worker breaks the pool; returns the jobs it was doing then."""
    running: dict[Any, Job] = {}
    with start() as (pool, ahead, killed):
        try:
            while True:
                for job in itertools.islice(waiting, ahead - len(running)):
                    running[job.run] = job  # known also if the pool breaks in `submit`
                    running[pool.submit(do_packed, data, job)] = running.pop(job.run)
                if not running:
                    return []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    record = _fetched(future, running[future], killed)
                    del running[future]
                    yield record
        except BrokenExecutor:
            return list(running.values())


def _fetched(future: Any, job: Job, killed: Any) -> Record:
    """Returns the record of a future that ended."""
    try:
        record: Record = future.result()
        return record
    except killed:  # Dask has done it again on other workers, as often as it allows
        return Record(job.run, job.parameters, {}, 0.0, KILLED)
    except (StudyError, BrokenExecutor):
        raise
    except Exception as error:
        raise StudyError(
            f"the cluster lost run {job.run}: {type(error).__name__}: {error}. Runs that ended are stored in the "
            "study's folder, if it has one; start the study again to go on."
        ) from error


# --- pools ------------------------------------------------------------------------------------------------------------


@contextmanager
def _local(workers: int) -> Iterator[Pool]:
    """Worker processes of this machine. BLAS has one thread in each: two pools of threads would slow each other."""
    import loky

    one_thread = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    pool = loky.ProcessPoolExecutor(workers, initializer=_end_with, initargs=(os.getpid(),), env=one_thread)
    try:
        yield pool, 2 * workers, ()
    finally:
        pool.shutdown(kill_workers=True)


def _end_with(parent: int) -> None:
    """Ends this worker when the process that started it is gone, so that a killed study leaves nothing running."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="equipoise watch").start()


@contextmanager
def _dask(workers: int, scheduler: Any) -> Iterator[Pool]:
    """The cluster of a scheduler or a client, or one of this machine that lives as long as the study."""
    import distributed

    own: Any = nullcontext(scheduler)
    if scheduler is None:
        own = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            silence_logs=logging.ERROR,
        )  # fmt: skip
    with own as cluster:
        try:
            client = nullcontext(cluster) if isinstance(cluster, distributed.Client) else distributed.Client(cluster)
        except (OSError, ValueError, TypeError) as error:
            raise StudyError(f"no Dask scheduler at {scheduler!r}: {type(error).__name__}: {error}") from None
        with client as reached:
            pool = reached.get_executor(pure=False)
            try:
                yield pool, max(32, AHEAD * sum(reached.nthreads().values())), distributed.KilledWorker
            finally:
                pool.shutdown(wait=False)
