-- Removing a tenant: by maintenance alone, a batch a call, so that nobody waits for it.

-- Deletes up to `at_most` rows of one table and returns how many; 0 when nothing of the tenant is left but itself. Tables whose rows go
-- with another's (on delete cascade) are left to that. The others in the order of their references, read from the catalogue, so that a
-- new table is covered; the circle of documents and revisions is opened first.
create or replace function veraz.erase_rows(of_tenant uuid, at_most integer) returns bigint
language plpgsql as $$
declare
    t       text;
    touched bigint;
begin
    if exists (select from veraz.tenant where tenant_id = of_tenant and disabled_at is null) then
        raise exception 'the tenant is enabled' using errcode = 'object_not_in_prerequisite_state';
    end if;
    update veraz.document d set current_revision_id = null, superseded_by = null, superseded_at = null
     where d.tenant_id = of_tenant
       and d.ctid = any (array(select o.ctid from veraz.document o
                                where o.tenant_id = of_tenant and (o.current_revision_id is not null or o.superseded_by is not null) limit at_most));
    get diagnostics touched = row_count;
    if touched > 0 then
        return touched;
    end if;
    for t in
        with recursive reference as (
            select distinct k.conrelid as child, k.confrelid as parent from pg_constraint k
             where k.contype = 'f' and k.connamespace = 'veraz'::regnamespace and k.conrelid <> k.confrelid
               and not (k.conrelid = 'veraz.document'::regclass and k.confrelid = 'veraz.revision'::regclass)
        ), held as (
            select c.oid, c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
             where c.relnamespace = 'veraz'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'tenant'
               and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.confdeltype = 'c')
        ), depth (oid, steps) as (
            select oid, 0 from held
            union
            select r.child, d.steps + 1 from depth d join reference r on r.parent = d.oid where d.steps < 50
        )
        select h.relname from held h join depth d using (oid) group by h.relname order by max(d.steps) desc, h.relname
    loop
        execute format('delete from veraz.%I where tenant_id = $1 and ctid = any (array(select ctid from veraz.%I where tenant_id = $1 limit $2))', t, t)
          using of_tenant, at_most;
        get diagnostics touched = row_count;
        if touched > 0 then
            return touched;
        end if;
    end loop;
    return 0;
end $$;
