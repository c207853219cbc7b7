"""Passages of hits, within a budget: what a reader is given."""
