-- Purpose: apply what current revisions declare about replacing one another, for documents that were just written, and what the caller of the
-- ingest stated of them. One row: links made, links removed.
select made, removed from veraz.link_written(%(document_ids)s::uuid[], %(stated_supersedes)s::text)
