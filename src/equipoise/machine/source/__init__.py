"""A program as C: one text for C99 files and for CUDA."""
