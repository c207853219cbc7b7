-- Purpose: the mean of a space's current vectors, of every tenant or of one. One row; null without vectors. As the maintenance role.
select avg(vec)::text as centre from {embedding}
 where is_current and (%(tenant_id)s::uuid is null or tenant_id = %(tenant_id)s::uuid)
