"""Ports: small protocols, each with adapters in a folder of its own. Nothing here opens a database connection."""
