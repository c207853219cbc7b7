-- Purpose: is_current of the document's chunks, vectors and postings; the only writer of that column.
select veraz.refresh_currency(%(document_id)s)
