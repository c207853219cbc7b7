-- Purpose: how far this database is. One row: newest migration, digest of the replayed files.
select max(number), max(digest) filter (where number = -1) from veraz.migration
