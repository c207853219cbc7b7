-- Purpose: decide who replaces whom one transaction at a time; before any document is locked. One row, of no use.
select veraz.lock_supersession(true)
