-- The table of both recipes: text, its English tsvector, its vector.
create table recipe (
    id text primary key,
    content text not null,
    embedding vector(384) not null,
    fts tsvector generated always as (to_tsvector('english', content)) stored
)
