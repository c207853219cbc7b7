-- One pair of configurations per analyser: lex_xx (stop words, then the stemmer) and fold_xx (unaccent before the same).
-- They are copies, so that no server setting can change what an indexed word means.
do $$
declare
    a record;
begin
    for a in select * from (values ('en', 'english'), ('es', 'spanish'), ('fr', 'french'), ('de', 'german'), ('it', 'italian'),
                                   ('pt', 'portuguese'), ('nl', 'dutch'), ('sv', 'swedish'), ('da', 'danish'), ('no', 'norwegian'),
                                   ('fi', 'finnish'), ('ro', 'romanian'), ('hu', 'hungarian'), ('ru', 'russian'), ('tr', 'turkish'),
                                   ('xx', 'simple')) v (code, config) loop
        if not exists (select from pg_ts_config where cfgnamespace = 'veraz'::regnamespace and cfgname = 'lex_' || a.code) then
            execute format('create text search configuration veraz.%I (copy = pg_catalog.%I)', 'lex_' || a.code, a.config);
            execute format('create text search configuration veraz.%I (copy = pg_catalog.%I)', 'fold_' || a.code, a.config);
            execute format('alter text search configuration veraz.%I alter mapping for hword, hword_part, word with @extschema@.unaccent, %s',
                           'fold_' || a.code, case a.config when 'simple' then 'simple' else a.config || '_stem' end);
        end if;
    end loop;
end $$;
