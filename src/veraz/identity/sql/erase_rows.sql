-- Purpose: one batch of the rows of a disabled tenant; 0 when none is left. One row. Index: the primary keys, which begin with the tenant.
select veraz.erase_rows(%(tenant_id)s, %(at_most)s)
