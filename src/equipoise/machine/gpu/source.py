"""Writes a program as a CUDA kernel with one thread per state.

Neighbouring threads process neighbouring states, so memory access is fast where the same entry of neighbouring
states is contiguous. This is the fast layout: (n, B), seen as (B, n) with strides. Rows of states, (B, n), are
copied through shared memory by all threads of a block together. If that memory is too small or needed for spilled
values, separate kernels convert inputs to the fast layout (`turn`) and spread results, written once each, over their
rows (`gather`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Program
from ..source.body import SourceBody, places
from ..source.functions import helpers
from ..target import compact_slots
from .layout import MemoryLayout, bytes_of, padded, stage_numbers

STATES = 32  # states in a tile of `gather`
ENTRIES = 128  # entries of a row in a tile of `gather`
_PRELUDE = """#define FUNCTION __device__ __forceinline__
#if __CUDA_ARCH__ >= 800  // copies to shared memory that no thread waits for
#define BRING(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: \\
  "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(real)) : "memory")
#define ARRIVED() asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads()
#else
#define BRING(to, from) *(to) = *(from)
#define ARRIVED() __syncthreads()
#endif
"""


@dataclass(frozen=True)
class Source:
    """CUDA text with its launch parameters."""

    text: str
    threads: int
    shared: int  # bytes of shared memory per block


def cuda_source(program: Program, dtype: str, layout: MemoryLayout, name: str = "run") -> Source:
    """Returns the kernel's text: `name(pointer, bytes between entries, bytes between states of every array, count,
    0)`.
    """
    writer = _Writer(program, layout)
    arrays = [f"const char *i{k}, unsigned ic{k}, long long is{k}" for k in range(len(program.inputs))]
    arrays += [f"char *o{k}, unsigned oc{k}, long long os{k}" for k in range(writer.n_outputs)]
    body = SourceBody(
        program, dtype, writer.read, writer.write, cut=layout.cut, fast_division=True, registers=layout.registers
    )  # fmt: skip
    lines = body.lines()
    staged, waiting = stage_numbers(program, layout), min(body.waiting_places, layout.waiting)
    numbers = staged + waiting * layout.threads
    bounds = f"{layout.threads}, {layout.blocks}" if layout.blocks else f"{layout.threads}"
    text = "\n".join(
        [
            _PRELUDE,
            f"#define STORE(place, value) {'__stcs(place, value)' if layout.streaming else '*(place) = (value)'}",
            helpers(dtype, polynomials=True),
            *_waiting_room(staged, layout.threads, waiting, body.waiting_places),
            *writer.tables(),
            f'extern "C" __global__ void __launch_bounds__({bounds})',
            f"{name}({', '.join(arrays)}, unsigned count, unsigned leave) {{",
            "extern __shared__ real stage[];" if numbers else "",
            f"real more[{body.waiting_places - waiting}];" if body.waiting_places > waiting else "",
            f"const unsigned first = blockIdx.x * {layout.threads}u, lane = threadIdx.x, state = first + lane;",
            f"const unsigned rows = count - first < {layout.threads}u ? count - first : {layout.threads}u;"
            if staged
            else "",
            *writer.loads(),
            "if (state < count) {",
            *writer.pointers(),
            *lines,
            "}",
            *writer.stores(),
            "}",
            "",
        ]
    )
    return Source(text, layout.threads, numbers * bytes_of(dtype))


def _waiting_room(start: int, threads: int, shared: int, total: int) -> list[str]:
    """Defines `WAIT(place)`: in shared memory as far as there is room, the rest in the thread's local memory."""
    room = f"((volatile real *)stage)[{start}u + (place) * {threads}u + lane]"
    if total > shared:
        room = f"*((place) < {shared}u ? &{room} : (volatile real *)more + ((place) - {shared}u))"
    return [f"#define WAIT(place) ({room})"]


class _Writer:
    """Writes how inputs are read and where results are stored."""

    def __init__(self, program: Program, layout: MemoryLayout) -> None:
        self.p, self.layout = program, layout
        self.places = places(program)
        needed, _ = compact_slots(program)
        self.slots = {int(number): k for k, number in enumerate(needed)}
        self.n_outputs = 1 if layout.results == "compact" else len(program.outputs)
        self.entries = [(k, entry) for k, argument in enumerate(program.inputs) for entry in range(argument.size)]
        self.offsets: dict[str, int] = {}
        offset = 0
        for k, argument in enumerate(program.inputs):
            if layout.staged[k]:
                self.offsets[f"i{k}"] = offset
                offset += padded(argument.size) * layout.threads
        self.spread_at = offset
        for k, output in enumerate(program.outputs):
            if layout.results == "staged":
                self.offsets[f"o{k}"] = offset
                offset += padded(output.size) * layout.threads

    def read(self, number: int) -> str:
        k, entry = self.entries[number]
        if self.layout.staged[k]:
            return f"i{k}_row[{entry}]"
        return f"__ldg((const real *)(i{k}_at + {entry}ull * ic{k}))"

    def write(self, number: int, name: str) -> list[str]:
        if self.layout.results in ("compact", "spread"):
            slot = self.slots.get(number)
            if slot is None:
                return []
            if self.layout.results == "compact":
                return [f"STORE((real *)(o0_at + {slot}ull * oc0), {name});"]
            return [f"stage[{self.spread_at + slot * (self.layout.threads + 1)}u + lane] = {name};"]
        wanted = self.places.get(number, [])
        if self.layout.results == "staged":
            return [f"o{k}_row[{entry}] = {name};" for k, entry in wanted]
        return [f"STORE((real *)(o{k}_at + {entry}ull * oc{k}), {name});" for k, entry in wanted]

    def pointers(self) -> list[str]:
        """Returns pointers to the arrays' entries of this thread's state."""
        lines = []
        for k, argument in enumerate(self.p.inputs):
            if self.layout.staged[k]:
                lines.append(
                    f"const real *i{k}_row = stage + {self.offsets[f'i{k}']} + lane * {padded(argument.size)}u;"
                )
            else:
                lines.append(f"const char *i{k}_at = i{k} + (long long)state * is{k};")
        for k in range(self.n_outputs):
            if self.layout.results == "spread":
                continue
            if self.layout.results == "staged":
                size = padded(self.p.outputs[k].size)
                lines.append(f"real *o{k}_row = stage + {self.offsets[f'o{k}']} + lane * {size}u;")
            else:
                lines.append(f"char *o{k}_at = o{k} + (long long)state * os{k};")
        return lines

    def loads(self) -> list[str]:
        """Returns code by which all threads together copy the block's rows to shared memory."""
        lines = []
        for k, argument in enumerate(self.p.inputs):
            if self.layout.staged[k] and argument.size:
                source = f"(const real *)(i{k} + (long long)(first + row) * is{k}) + column"
                target = f"stage + {self.offsets[f'i{k}']}u + row * {padded(argument.size)}u + column"
                lines += self._together(argument.size, f"BRING({target}, {source});")
        return [*lines, "ARRIVED();"] if lines else []

    def stores(self) -> list[str]:
        """Returns code by which all threads together copy the block's rows from shared memory to the results."""
        if self.layout.results == "spread":
            return self._spread()
        if self.layout.results != "staged":
            return []
        lines = ["__syncthreads();"]
        for k, output in enumerate(self.p.outputs):
            if output.size:
                target = f"((real *)(o{k} + (long long)(first + row) * os{k}))[column]"
                source = f"stage[{self.offsets[f'o{k}']}u + row * {padded(output.size)}u + column]"
                lines += self._together(output.size, f"{target} = {source};")
        return lines

    def _spread(self) -> list[str]:
        """Returns code that fills every entry of a row from the place of its value."""
        lines, T = ["__syncthreads();"], self.layout.threads
        for k, output in enumerate(self.p.outputs):
            lines += [
                f"for (unsigned e = lane; e < {output.size}u; e += {T}u) {{",
                f"  const int slot = table{k}[e];",
                f"  const real *value = stage + {self.spread_at} + (slot - 1) * {T + 1};",
                f"  char *place = o{k} + first * os{k} + e * (unsigned)sizeof(real);",
                "#pragma unroll 8",
                f"  for (unsigned row = 0; row < rows; ++row) *(real *)(place + row * os{k}) = slot ? value[row] : "
                "(real)0;",
                "}",
            ]
        return lines

    def tables(self) -> list[str]:
        """Returns tables with, for every entry of a row, one more than the place of its value; 0 for zeros."""
        if self.layout.results != "spread":
            return []
        tables = compact_slots(self.p)[1]
        text = [", ".join(map(str, table.tolist())) or "0" for table in tables]
        return [f"static __device__ const short table{k}[] = {{{t}}};" for k, t in enumerate(text)]

    def _together(self, size: int, statement: str) -> list[str]:
        return [
            "#pragma unroll 8",
            f"for (unsigned turn = 0; turn < {size}u; ++turn) {{",
            f"  const unsigned place = turn * {self.layout.threads}u + lane, row = place / {size}u, column = place % "
            f"{size}u;",
            f"  if (row < rows) {statement}",
            "}",
        ]


def gather_source(dtype: str) -> str:
    """Returns the kernel `gather(values, table, out, entries, chunks of a row, count)`: row b of `out` gets
    values[table[e] − 1][b], or zero.
    """
    return f"""typedef {"double" if dtype == "float64" else "float"} real;
extern "C" __global__ void __launch_bounds__(256)
gather(const real *values, const int *table, real *out, unsigned entries, unsigned chunks, unsigned count) {{
  __shared__ real tile[{STATES}][{ENTRIES + 1}];
  const unsigned chunk = blockIdx.x % chunks, first = blockIdx.x / chunks * {STATES}u;
  const unsigned lane = threadIdx.x % 32u, group = threadIdx.x / 32u, start = chunk * {ENTRIES}u;
  for (unsigned e = group; e < {ENTRIES}u && start + e < entries; e += 8u) {{
    const int slot = __ldg(table + start + e);
    tile[lane][e] = (slot && first + lane < count) ? __ldg(values + (slot - 1ull) * count + first + lane) : (real)0;
  }}
  __syncthreads();
  for (unsigned s = group; s < {STATES}u && first + s < count; s += 8u)
    for (unsigned e = lane; e < {ENTRIES}u && start + e < entries; e += 32u)
      out[(first + s) * (unsigned long long)entries + start + e] = tile[s][e];
}}
"""


def turn_source(dtype: str) -> str:
    """Returns the kernel `turn(rows, bytes between rows, out, entries, chunks of a row, count)`: (count, entries) to
    (entries, count).
    """
    return f"""typedef {"double" if dtype == "float64" else "float"} real;
extern "C" __global__ void __launch_bounds__(256)
turn(const char *rows, long long between, real *out, unsigned entries, unsigned chunks, unsigned count) {{
  __shared__ real tile[32][33];
  const unsigned start = blockIdx.x % chunks * 32u, first = blockIdx.x / chunks * 32u;
  const unsigned lane = threadIdx.x % 32u, group = threadIdx.x / 32u;
  for (unsigned s = group; s < 32u && first + s < count; s += 8u)
    if (start + lane < entries) tile[s][lane] = __ldg((const real *)(rows + (first + s) * between) + start + lane);
  __syncthreads();
  for (unsigned e = group; e < 32u && start + e < entries; e += 8u)
    if (first + lane < count) out[(start + e) * (unsigned long long)count + first + lane] = tile[lane][e];
}}
"""
