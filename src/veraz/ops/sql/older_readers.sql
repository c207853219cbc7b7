-- Purpose: transactions that keep vacuum from what another one removed. One row: how many. Plain vacuum minds those of this database and
-- of standbys, which belong to none; a rewrite is held up by those of the whole server, because it works under a snapshot itself.
-- Who may not read all statistics still sees every session's xmin, xid and user, but not its kind: only autovacuum's launcher and workers
-- have no user, and their snapshots are gone in a moment.
select (select count(*) from pg_stat_activity
         where pid <> pg_backend_pid() and usesysid is not null
           and (%(everywhere)s or datname is null or datname = current_database())
           and greatest(age(backend_xmin), age(backend_xid)) >= age(%(xid)s::xid8::xid))
     + (select count(*) from pg_prepared_xacts
         where (%(everywhere)s or database = current_database()) and age(transaction) >= age(%(xid)s::xid8::xid))
     + (select count(*) from pg_replication_slots where xmin is not null and age(xmin) >= age(%(xid)s::xid8::xid))
