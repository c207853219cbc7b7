-- Purpose: the sources of the tenant, by slug. One row per source. Index: source (tenant, slug).
select slug from veraz.source where tenant_id = veraz.current_tenant() order by slug
