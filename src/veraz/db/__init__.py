"""Reaching PostgreSQL: the session that opens transactions, statements, capabilities, the embedded server."""
