-- Purpose: an operator's word: this document is replaced by that one, or by none. One row, of no use. Index: document_pkey.
select veraz.pin_supersession(%(document_id)s, %(by_document)s, %(since)s)
