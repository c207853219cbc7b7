-- Purpose: the heading tree of one revision, from a JSON array.
insert into veraz.section (tenant_id, revision_id, ord, parent, level, heading, heading_path, start_at, end_at)
select veraz.current_tenant(), %(revision_id)s, s.ord, s.parent, s.level, s.heading, s.heading_path, s.start, s."end"
  from jsonb_to_recordset(%(sections)s::jsonb) as s (ord integer, parent integer, level smallint, heading text, heading_path text[],
                                              start integer, "end" integer)
