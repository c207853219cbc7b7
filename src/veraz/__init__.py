"""Hybrid retrieval and cited answers on PostgreSQL."""

__version__ = "0.1.0"
