-- Purpose: the heading tree of one revision, in reading order. Index: section_pkey.
select ord, parent, level, heading, heading_path, start_at, end_at
  from veraz.section where tenant_id = veraz.current_tenant() and revision_id = %(revision_id)s order by ord
