-- Purpose: the tables that hold what was made of documents, and whether this login may vacuum them. One row per table.
select c.relname, pg_has_role(c.relowner, 'usage') or pg_has_role((select datdba from pg_database where datname = current_database()), 'usage')
  from pg_class c
 where c.relnamespace = 'veraz'::regnamespace and c.relkind = 'r'
   and (c.relname in ('document', 'revision', 'section', 'chunk', 'chunk_lexical', 'context_draft', 'ingest_failure', 'posting', 'lexeme_stat', 'trace',
                     'eval_query')
        or c.relname ~ '^embedding_[0-9]+$')
 order by c.relname
