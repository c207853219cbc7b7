"""Looking after a database: status, spaces, statistics."""
