insert into veraz.document (tenant_id, document_id, source_id, external_id, acl)
values (%(tenant)s, %(document)s, %(source)s, %(name)s, %(acl)s);

insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, lang, raw_hash, media, parser, chunker, revised_at, ingested_at)
values (%(tenant)s, %(revision)s, %(document)s, 1, %(text)s, %(name)s, 'en', sha256('x'), 'text', 'text/1', 'structure/1',
        %(revised_at)s, '2025-01-02 03:04Z');

insert into veraz.section values (%(tenant)s, %(revision)s, 0, null, 0, '', '{}', 0, length(%(text)s));

insert into veraz.chunk (tenant_id, chunk_id, document_id, revision_id, ord, section, heading_path, kind, body, display, header, token_count,
                         spans, start_at, end_at, content_hash, lang)
values (%(tenant)s, %(chunk)s, %(document)s, %(revision)s, 0, 0, '{}', 'paragraph', %(text)s, %(text)s, '', 7,
        array[0, length(%(text)s)], 0, length(%(text)s), sha256('y'), 'en');

insert into veraz.embedding_1 (tenant_id, chunk_id, document_id, vec) values (%(tenant)s, %(chunk)s, %(document)s, %(vector)s::public.halfvec);

select veraz.index_revision(%(revision)s, 'en');

update veraz.document set current_revision_id = %(revision)s where document_id = %(document)s;

select veraz.refresh_currency(%(document)s);
