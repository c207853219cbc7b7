-- Purpose: one immutable revision.
insert into veraz.revision (tenant_id, revision_id, document_id, number, text, title, url, lang, publisher, license, jurisdiction,
                            published_at, revised_at, valid_from, valid_to, supersedes, item, edition, raw_hash, bytes_hash, stated, media, parser,
                            chunker, meta, page_starts, dropped, dropped_why)
values (veraz.current_tenant(), %(revision_id)s, %(document_id)s, %(number)s, %(text)s, %(title)s, %(url)s, %(lang)s, %(publisher)s,
        %(license)s, %(jurisdiction)s, %(published_at)s, %(revised_at)s, %(valid_from)s, %(valid_to)s, %(supersedes)s, %(item)s, %(edition)s, %(raw_hash)s,
        %(bytes_hash)s, %(stated)s, %(media)s, %(parser)s, %(chunker)s, %(meta)s, %(page_starts)s, %(dropped)s, %(dropped_why)s)
