-- Purpose: the tenants that evaluations made for collections of their own, and that hold runs. As the maintenance role. One row a tenant.
select t.tenant_id, t.slug from veraz.tenant t
 where starts_with(t.slug, 'eval-') and t.disabled_at is null and exists (select from veraz.eval_run r where r.tenant_id = t.tenant_id)
 order by t.slug
