"""Veraz without storing what it searched."""

from __future__ import annotations

from peers.adapters import veraz_search


class Peer(veraz_search.Peer):
    trace = False
