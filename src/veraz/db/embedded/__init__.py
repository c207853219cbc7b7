"""The embedded PostgreSQL server: one per VERAZ_HOME, started on first use and shared by later commands."""

from veraz.db.embedded.server import EmbeddedServer, ServerStatus

__all__ = ["EmbeddedServer", "ServerStatus"]
