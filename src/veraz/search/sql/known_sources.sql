-- Purpose: which of the sources that a filter names the tenant has. One row per source; all of them where none is named.
-- Index: source (tenant, slug).
select slug from veraz.source
 where tenant_id = veraz.current_tenant() and (%(sources)s::text[] is null or slug = any (%(sources)s::text[]))
