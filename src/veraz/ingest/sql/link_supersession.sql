-- Purpose: apply what current revisions declare about replacing one another, and what the caller of an ingest stated of this document.
-- One row: links made, links removed.
select made, removed from veraz.link_supersession(%(document_id)s, %(stated_supersedes)s)
