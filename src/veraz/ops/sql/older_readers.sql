-- Purpose: transactions that may still see what a transaction removed, so that vacuum had to leave it. One row: how many.
select (select count(*) from pg_stat_activity
         where backend_xmin is not null and pid <> pg_backend_pid() and age(backend_xmin) >= age(%(xid)s::xid8::xid))
     + (select count(*) from pg_prepared_xacts where age(transaction) >= age(%(xid)s::xid8::xid))
     + (select count(*) from pg_replication_slots where xmin is not null and age(xmin) >= age(%(xid)s::xid8::xid))
