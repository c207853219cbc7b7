-- Purpose: apply what current revisions declare about replacing one another. One row: links changed.
select veraz.link_supersession(%(document_id)s)
