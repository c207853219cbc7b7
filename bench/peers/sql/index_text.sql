create index on recipe using gin (fts)
