-- Purpose: remember which functions, policies and grants are in force, so that an unchanged set is not replayed. One row.
insert into veraz.migration (number, name, digest) values (-1, 'replay', %s)
on conflict (number) do update set digest = excluded.digest, applied_at = now()
