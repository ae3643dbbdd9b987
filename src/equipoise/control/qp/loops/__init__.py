"""The solver as machine code, one file per step; `main` says how they follow each other."""
