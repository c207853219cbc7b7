-- Purpose: copy a space's current vectors, of every tenant or of one. As the maintenance role.
insert into {copy} (tenant_id, chunk_id, document_id, vec, signs, centred)
select tenant_id, chunk_id, document_id, vec, binary_quantize(vec)::bit({dimension}),
       binary_quantize(vec - %(centre)s::halfvec)::bit({dimension})
  from {embedding}
 where is_current and (%(tenant_id)s::uuid is null or tenant_id = %(tenant_id)s::uuid)
