"""One run: the function with its parameters, in whatever process, and what came of it."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ..errors import missing_package
from ..machine.threads import limit_threads
from .parameters import RESERVED, Row, StudyError, plain
from .table import Record

Function = Callable[..., Any]
LONGEST = 2000  # characters of a text in a table


@dataclass(frozen=True)
class Job:
    """A run that is to be done."""

    run: int
    parameters: Row


def name_of(function: Any) -> str:
    """Module and name; arguments that `functools.partial` has bound belong to it."""
    if isinstance(function, functools.partial):
        bound = [*map(repr, function.args), *(f"{name}={value!r}" for name, value in function.keywords.items())]
        return f"{name_of(function.func)}({', '.join(bound)})"
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{owner.__module__}.{owner.__qualname__}"


def source_digest(function: Any) -> str:
    """A name for the function's own text; "" where it has none."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):
        return ""


def require_fit(function: Any, parameters: Row) -> None:
    """Raise if the function cannot be called with such parameters: better now than two hundred times."""
    if not callable(function):
        raise StudyError(f"wanted a function, got {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        return
    try:
        signature.bind(**parameters)
    except TypeError as error:
        raise StudyError(
            f"{name_of(function)}{signature} cannot be called with the parameters {', '.join(parameters)}: {error}"
        ) from None


def packed(function: Function) -> bytes:
    """The function as bytes for the workers; one from a module that they cannot import goes with its code."""
    try:
        import cloudpickle
    except ImportError:
        raise missing_package("cloudpickle", "study", "a study on several workers") from None
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    module = sys.modules.get(getattr(inner, "__module__", None) or "")
    by_value = module is not None and module.__name__ != "__main__" and not _importable(module.__name__)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        return _dumped(cloudpickle, function)
    except Exception as error:
        raise StudyError(
            f"{name_of(function)} cannot be sent to workers: {type(error).__name__}: {error}. "
            "Load robots and open files inside the function, not outside."
        ) from None
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _dumped(cloudpickle: Any, function: Function) -> bytes:
    """The function by cloudpickle; cached functions that workers cannot import go with their code, and an empty
    cache."""

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, functools._lru_cache_wrapper):
                module = item.__module__ or ""
                if (
                    module == "__main__"
                    or module in cloudpickle.list_registry_pickle_by_value()
                    or not _importable(module)
                ):
                    return _cached_again, (item.__wrapped__, *item.cache_parameters().values())
            return super().reducer_override(item)

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue()


def _cached_again(function: Function, maxsize: int | None, typed: bool) -> Function:
    """A function under `functools.cache` or `lru_cache`, as it was."""
    return functools.lru_cache(maxsize=maxsize, typed=typed)(function)


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@functools.lru_cache(maxsize=4)
def _unpacked(data: bytes) -> Function:
    """Once in each worker, so that what the function keeps between runs is kept."""
    import cloudpickle

    try:
        return cloudpickle.loads(data)
    except Exception as error:
        raise StudyError(
            f"the workers cannot load the function: {type(error).__name__}: {error}. "
            "Its module and Equipoise must be installed where they run."
        ) from None


def do_packed(data: bytes, job: Job) -> Record:
    """`do` in a worker. The bytes come from the process that started the study, never from a file."""
    return do(_unpacked(data), job)


def do(function: Function, job: Job) -> Record:
    """One run on one thread. Whatever the function raises or warns of becomes part of the record."""
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            with limit_threads(1):
                results = _results(function(**job.parameters), job.parameters)
            failure = ""
        except (Exception, SystemExit) as error:
            results, failure = {}, _description(error)
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return Record(job.run, job.parameters, results, perf_counter() - begin, failure, notes)


def _description(error: BaseException) -> str:
    """The error in one line, with the place it came from."""
    text = f"{type(error).__name__}: {error}".strip()[: LONGEST // 2]
    places = traceback.extract_tb(error.__traceback__)
    if isinstance(error, StudyError) or len(places) < 2:
        return text
    return f"{text} (in {places[-1].name}, {places[-1].filename.rpartition('/')[2]}:{places[-1].lineno})"


def _results(given: Any, parameters: Row) -> Row:
    """What a function returned, as columns: a mapping, or one number or text."""
    if not isinstance(given, Mapping):
        try:
            given = {"result": plain("result", given, finite=False)}
        except StudyError:
            raise StudyError(
                f"the function must return a mapping from names to numbers or short texts, or one of these; "
                f"got {type(given).__name__}"
            ) from None
    results = {str(name): plain(f"result {name!r}", value, finite=False) for name, value in given.items()}
    for name, value in results.items():
        if name in parameters or name in RESERVED:
            raise StudyError(f"no result can be named {name!r}: the table has that column already; name it otherwise")
        if isinstance(value, str) and len(value) > LONGEST:
            raise StudyError(f"result {name!r} is a text of {len(value)} characters; tables take up to {LONGEST}")
    return results
