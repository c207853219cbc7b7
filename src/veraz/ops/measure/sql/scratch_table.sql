-- Purpose: a table for a copy of a space's current vectors, and of their signs: as they are, and around the mean. As the maintenance role.
create unlogged table {copy} (
    tenant_id   uuid not null,
    chunk_id    uuid not null,
    document_id uuid not null,
    vec         halfvec({dimension}) not null,
    signs       bit({dimension}) not null,
    centred     bit({dimension}) not null
);
grant usage on schema {schema} to {reader};
grant select on {copy} to {reader}
