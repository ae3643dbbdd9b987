"""Whole-body control against TSID, PlaCo, Pink and mink: one problem description, peers in processes of their own."""
