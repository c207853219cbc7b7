-- Purpose: what is stored of a source. At most one row. Index: source_pkey.
select source_id, name, chunker from veraz.source where tenant_id = veraz.current_tenant() and source_id = %(source_id)s
