-- Purpose: how large the unmerged part of the inverted file is. One row per tenant and analyser.
select t.slug, s.analyser, sum(s.chunks) as chunks, coalesce(sum(s.postings) filter (where s.block >= 0), 0) as merged,
       coalesce(sum(s.postings) filter (where s.block < 0), 0) as delta, e.reference_length
  from veraz.lexical_stat s join veraz.tenant t using (tenant_id) join veraz.lexical_epoch e using (tenant_id, analyser)
 group by t.slug, s.analyser, e.reference_length order by 1, 2
