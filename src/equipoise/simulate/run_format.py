"""What a file of a run is made of; written by `run`, read by `run_reader`."""

from __future__ import annotations

KIND = "equipoise run"
FORMAT = 1  # of the file; one that is higher comes from a later version
ARRAYS = ("t", "q", "v", "torque", "acceleration", "com", "status", "cycle_time")
MAPPINGS = ("forces", "measured", "task_errors", "margins", "readings", "estimates", "references", "outlines")
# missed: stands, but the goals of its scenario were not reached. interrupted: by Ctrl-C
OUTCOMES = ("completed", "fell", "failed", "missed", "interrupted")
