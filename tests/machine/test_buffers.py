"""Memory of results: used again when nobody holds a result any more, and never before."""

from __future__ import annotations

import gc
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.machine import buffers
from equipoise.machine.buffers import ALIGNED, LEAST, Buffers

SHAPE = (LEAST // 8, 2)


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_is_used_again_when_nobody_holds_it():
    pool = Buffers()
    first = pool.empty(SHAPE, "float64")
    place = address(first)
    assert place % ALIGNED == 0 and first.flags.carray
    del first
    assert address(pool.empty(SHAPE, "float64")) == place
    assert address(pool.empty((2 * SHAPE[0], 1), "float64")) == place  # of another shape, too
    assert address(pool.empty((*SHAPE, 2), "float32")) == place


HOLDERS = {
    "the array": lambda x: x,
    "a view": lambda x: x[5:6, 1:],
    "a view of a view": lambda x: x[5:][::2].T,
    "another dtype": lambda x: x.view(np.uint8)[:1],
    "a memoryview": lambda x: memoryview(x),
    "an iterator": lambda x: x.flat,
    "a DLPack capsule": lambda x: np.from_dlpack(x),
    "the buffer of another library": lambda x: np.frombuffer(x, dtype=np.int64),
    "a closure": lambda x: lambda: x,
    "a broadcast": lambda x: np.broadcast_to(x, (3, *x.shape)),
}


@pytest.mark.parametrize("what", HOLDERS)
def test_whatever_still_refers_to_a_result_keeps_it(what):
    pool = Buffers()
    result = pool.empty(SHAPE, "float64")
    place = address(result)
    holder = HOLDERS[what](result)
    del result
    gc.collect()
    assert address(pool.empty(SHAPE, "float64")) != place
    del holder
    gc.collect()
    seen = [pool.empty(SHAPE, "float64") for _ in range(3)]
    assert place in map(address, seen)


def test_a_tensor_of_jax_keeps_a_result():
    jax = pytest.importorskip("jax")
    pool = Buffers()
    result = pool.empty(SHAPE, "float32")
    result[:] = 1.0
    tensor = jax.numpy.asarray(result)  # may share the memory
    del result
    pool.empty(SHAPE, "float32")[:] = 2.0
    assert float(tensor.max()) == 1.0


def test_small_results_are_plain_arrays():
    assert Buffers().empty((3, 3), "float64").base is None


def test_nothing_is_remembered_where_counts_may_be_late(monkeypatch):
    monkeypatch.setattr(buffers, "COUNTED", False)
    pool = Buffers()
    assert pool.empty(SHAPE, "float64").base is None and not pool._blocks


def test_little_is_remembered():
    pool = Buffers(most_bytes=4 * LEAST, most_buffers=3)
    held = [pool.empty((LEAST,), "uint8") for _ in range(9)]
    assert len(pool._blocks) <= 3
    for k, array in enumerate(held):
        array[:] = k
    assert [int(array.max()) for array in held] == list(range(9))  # forgotten is not freed
    del held, array
    pool.empty((8 * LEAST,), "uint8")
    assert sum(block.size for block in pool._blocks) <= 8 * LEAST


def test_a_much_larger_block_is_not_held_for_a_small_result():
    pool = Buffers()
    place = address(pool.empty((8 * LEAST,), "uint8"))
    assert address(pool.empty((LEAST,), "uint8")) != place


def test_results_of_a_robot_stay_as_they_were():
    robot = eq.load("quadruped")
    q, _ = robot.random_state(np.random.default_rng(0), 400)
    first = robot.mass_matrix(q)
    assert first.nbytes > LEAST
    copy, part = first.copy(), first[7]
    second = robot.mass_matrix(q[::-1].copy())
    assert address(first) != address(second)
    assert_array_equal(first, copy)
    del first
    robot.mass_matrix(q[::-1].copy())
    assert_array_equal(part, copy[7])
    again = pickle.loads(pickle.dumps(second))
    assert_array_equal(again[::-1], copy)


def test_one_result_after_the_other_takes_no_more_memory():
    robot = eq.load("quadruped")
    q, _ = robot.random_state(np.random.default_rng(0), 400)
    places = {address(robot.mass_matrix(q)) for _ in range(20)}
    assert len(places) == 1
    places = set()
    for _ in range(20):
        result = robot.mass_matrix(q)  # the one before is held while the next is made: two places in turns
        places.add(address(result))
    assert len(places) <= 2


def test_threads_never_share_a_result(monkeypatch):
    monkeypatch.setattr(buffers, "results", Buffers())
    robot = eq.load("quadruped")
    q, _ = robot.random_state(np.random.default_rng(0), 300)
    right = robot.mass_matrix(q).copy()
    wrong = []

    def work(k: int) -> None:
        mine, wanted = np.roll(q, k, axis=0), np.roll(right, k, axis=0)
        for _ in range(40):
            if not np.array_equal(robot.mass_matrix(mine), wanted):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
