"""Export to C: forward dynamics as one C99 file, in a simulation loop written in C, compiled here and compared."""

import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import equipoise as eq

MAIN = """
#include <stdio.h>
#include "dynamics.h"
int main(void) {
    double q[2] = {1.2, 0.5}, v[2] = {0, 0}, tau[2] = {0, 0}, a[2];
    for (int k = 0; k < 3000; k++) {
        dynamics(q, v, tau, a);
        for (int i = 0; i < 2; i++) { v[i] += 0.001 * a[i]; q[i] += 0.001 * v[i]; }
        printf("%.17g %.17g\\n", q[0], q[1]);
    }
}
"""
robot = eq.load("two_link_pendulum")
source = robot.export("forward_dynamics", "dynamics.c", function="dynamics")  # and dynamics.h
print(f"{source}: {len(source.read_text().splitlines())} lines of C99, no library but libm")

compiler = shutil.which("cc")
if compiler is None:
    raise SystemExit("this example compiles what it wrote: it needs a C compiler, `cc`")
Path("main.c").write_text(MAIN)
subprocess.run([compiler, "-std=c99", "-O2", "main.c", str(source), "-o", "swing", "-lm"], check=True)
q_c = np.loadtxt(subprocess.run(["./swing"], capture_output=True, text=True, check=True).stdout.splitlines())

q, v, path = np.array([1.2, 0.5]), np.zeros(2), []
for _ in range(3000):
    v = v + 0.001 * robot.forward_dynamics(q, v, np.zeros(2))
    q = q + 0.001 * v
    path.append(q)
print("C and Python agree over 3 s:", np.allclose(q_c, path, atol=1e-6))

tip = robot.pose(q_c, "tool")[:, :3, 3]
figure, axes = plt.subplots(figsize=(4, 4), layout="constrained")
axes.plot(tip[:, 0], tip[:, 2], lw=0.8)
axes.set(xlabel="x, m", ylabel="z, m", aspect="equal", title="3 s of a double pendulum, in C")
