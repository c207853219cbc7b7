"""From a question to ranked evidence: two arms inside PostgreSQL, fused in a total order."""
