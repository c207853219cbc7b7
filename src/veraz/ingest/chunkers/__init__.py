"""Chunkers: how a parsed document becomes chunks."""
