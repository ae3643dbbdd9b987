"""Peers side by side, in one process, in turns."""
