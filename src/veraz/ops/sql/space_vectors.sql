-- Purpose: how many current vectors a space has, of all tenants. One row. As the maintenance role.
select count(*)::integer as vectors from {embedding} where is_current
