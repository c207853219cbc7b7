-- Purpose: what documents declare counts again. One row, of no use. Index: document_pkey.
select veraz.unpin_supersession(%(document_id)s)
