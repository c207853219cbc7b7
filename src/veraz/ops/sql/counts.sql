-- Purpose: the figures of `veraz status`, over all tenants, as the maintenance role. One row.
select (select count(*) from veraz.document where deleted_at is null) as documents, (select count(*) from veraz.revision) as revisions,
       (select count(*) from veraz.chunk where is_current) as chunks, (select count(*) from veraz.source) as sources,
       (select count(*) from veraz.tenant) as tenants
