-- Purpose: the heading trees of revisions, from a JSON array.
insert into veraz.section (tenant_id, revision_id, ord, parent, level, heading, heading_path, start_at, end_at)
select veraz.current_tenant(), s.revision_id, s.ord, s.parent, s.level, s.heading, s.heading_path, s.start, s."end"
  from json_to_recordset(%(sections)s::json) as s (revision_id uuid, ord integer, parent integer, level smallint, heading text,
       heading_path text[], start integer, "end" integer)
