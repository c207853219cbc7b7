-- Purpose: deleted documents whose time is over. At most a batch. Index: document_deleted.
select document_id from veraz.expired_documents(%(deleted_days)s) where document_id <> all (%(passed)s) order by document_id limit %(batch)s
