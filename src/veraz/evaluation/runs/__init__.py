"""Runs that are kept: what they were made with, and how they differ."""
