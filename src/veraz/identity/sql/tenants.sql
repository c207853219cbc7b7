-- Purpose: tenants with what they hold, as the maintenance role: all, or the one of a slug. One row a tenant. Reads every document's key.
select t.tenant_id, t.slug, t.name, t.created_at, t.disabled_at, coalesce(d.documents, 0) as documents, coalesce(k.keys, 0) as keys
  from veraz.tenant t
  left join (select tenant_id, count(*) as documents from veraz.document where deleted_at is null group by 1) d using (tenant_id)
  left join (select tenant_id, count(*) as keys from veraz.api_key
              where revoked_at is null and (expires_at is null or expires_at > now()) group by 1) k using (tenant_id)
 where %(slug)s::text is null or t.slug = %(slug)s
 order by t.slug
