"""Where the runs are done: in this process, in worker processes of this machine (joblib), or on a Dask cluster.

An engine is given jobs and yields their records as they come, each job once. A worker that dies takes no run with it:
its runs are done again elsewhere, and only one that kills its worker again and again is given up, as a failed run.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..errors import missing_package, unknown_name
from .parameters import StudyError
from .table import Record
from .task import Function, Job, do, do_packed, packed

ENGINES = ("local", "dask")
TRIES = 3  # of a run whose worker dies each time
AHEAD = 4  # runs waiting on a cluster for each thread of it
KILLED = "its worker died each time it was tried: killed, out of memory, or a crash in compiled code"


def records(
    engine: str, function: Function, jobs: Sequence[Job], *, workers: int | None = None, scheduler: object = None
) -> Iterator[Record]:
    """The records of all jobs, in the order in which they end."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if workers is not None and (workers != int(workers) or workers < 1):
        raise StudyError(f"workers is a whole number, 1 or more; got {workers!r}")
    if engine == "dask":
        return _on_dask(function, jobs, workers, scheduler)
    if scheduler is not None:
        raise StudyError("a scheduler is for engine='dask'; the local engine has none")
    count = min(workers or _cores(), len(jobs))
    return _here(function, jobs) if count <= 1 else _on_joblib(function, jobs, count)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _here(function: Function, jobs: Sequence[Job]) -> Iterator[Record]:
    """One after the other in this process, where a debugger can follow."""
    for job in jobs:
        yield do(function, job)


# --- joblib -----------------------------------------------------------------------------------------------------------


def _on_joblib(function: Function, jobs: Sequence[Job], workers: int) -> Iterator[Record]:
    data, left = packed(function), {job.run: job for job in jobs}
    while left:
        begun: dict[int, Job] = {}
        try:
            for record in _parallel(data, _noted(list(left.values()), begun), workers):
                del left[record.run], begun[record.run]
                yield record
        except BrokenProcessPool:  # joblib gives up all workers when one dies, and does not say which run it had
            for job in list(begun.values()):
                del left[job.run]
                yield _alone(data, job)


def _noted(jobs: Sequence[Job], begun: dict[int, Job]) -> Iterator[Job]:
    """The jobs, noted when joblib takes them."""
    for job in jobs:
        begun[job.run] = job
        yield job


def _alone(data: bytes, job: Job) -> Record:
    """A job with no other beside it: if workers die now, it is the one that kills them."""
    for _ in range(TRIES - 1):
        try:
            return list(_parallel(data, [job], 2))[0]  # noqa: RUF015 — to the end, so that joblib can tidy up
        except BrokenProcessPool:
            continue
    return Record(job.run, job.parameters, {}, 0.0, KILLED)


def _parallel(data: bytes, jobs: Any, workers: int) -> Any:
    """Records as they come. Workers have one thread for BLAS: two pools of threads would only be in each other's
    way."""
    try:
        import joblib
    except ImportError:
        raise missing_package("joblib", "study", "a study on several workers") from None
    with joblib.parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        parallel = joblib.Parallel(
            batch_size=1, return_as="generator_unordered", initializer=_end_with, initargs=(os.getpid(),)
        )
    return parallel(joblib.delayed(do_packed)(data, job) for job in jobs)


def _end_with(parent: int) -> None:
    """Watch the process that started this worker and end when it is gone, so that a killed study leaves nothing
    running."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="equipoise watch").start()


# --- Dask -------------------------------------------------------------------------------------------------------------


def _on_dask(function: Function, jobs: Sequence[Job], workers: int | None, scheduler: Any) -> Iterator[Record]:
    distributed = _distributed()
    data, left = packed(function), iter(jobs)
    with _client(distributed, workers, scheduler) as client:
        begun: dict[str, Job] = {}

        def submitted(most: int) -> list[Any]:
            futures = []
            for job in itertools.islice(left, most):
                futures.append(client.submit(do_packed, data, job, pure=False))
                begun[futures[-1].key] = job
            return futures

        threads = sum(client.nthreads().values())
        running = distributed.as_completed(submitted(max(32, AHEAD * threads)))
        for future in running:
            yield _fetched(distributed, future, begun.pop(future.key))
            running.update(submitted(1))


def _fetched(distributed: Any, future: Any, job: Job) -> Record:
    """The record of a future that ended. Dask has done it again where a worker died, as often as it allows."""
    try:
        return future.result()
    except distributed.KilledWorker:
        return Record(job.run, job.parameters, {}, 0.0, KILLED)
    except StudyError:
        raise
    except (Exception, distributed.CancelledError) as error:
        raise StudyError(
            f"the cluster lost run {job.run}: {type(error).__name__}: {error}. Runs that ended are stored in the "
            "study's folder, if it has one; start the study again to go on."
        ) from error


def _client(distributed: Any, workers: int | None, scheduler: Any) -> AbstractContextManager[Any]:
    """A client of the scheduler given, or of a cluster of our own with one process for each worker."""
    if scheduler is None:
        return _OwnCluster(distributed, workers or _cores())
    if workers is not None:
        raise StudyError("workers cannot be chosen here: the cluster of the scheduler has its own")
    if isinstance(scheduler, distributed.Client):
        return nullcontext(scheduler)
    try:
        return distributed.Client(scheduler)
    except (OSError, ValueError, TypeError) as error:
        raise StudyError(f"no Dask scheduler at {scheduler!r}: {type(error).__name__}: {error}") from None


class _OwnCluster:
    """A cluster of processes on this machine that lives as long as the study."""

    def __init__(self, distributed: Any, workers: int) -> None:
        self._cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            silence_logs=logging.ERROR,
        )  # fmt: skip
        self._client = distributed.Client(self._cluster)

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._cluster.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise missing_package("dask[distributed]", "study", "a study on a Dask cluster") from None
    return distributed
