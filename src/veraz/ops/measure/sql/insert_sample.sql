-- Purpose: what one arm of a sampled search found of the exact result; or, without an arm, how many samples were dropped. One row.
insert into veraz.recall_sample (tenant_id, arm, space_id, k, expected, found, approximated, filtered, exact_ms, dropped)
values (veraz.current_tenant(), %(arm)s, %(space_id)s, %(k)s, %(expected)s, %(found)s, %(approximated)s, %(filtered)s, %(exact_ms)s, %(dropped)s)
