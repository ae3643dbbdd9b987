"""The whole-body controller: from items to one compiled kernel, one quadratic program per step, and its solution."""
