-- Purpose: what a filter expression becomes. Each piece begins with a line `-- piece: NAME`; filters/compose.py puts pieces together and
-- the result into the slots of a statement: {conditions}, or {documents} (a day: {revisions}) and {chunks}. Nothing of an expression stands in the text: values
-- and keys of the metadata are parameters. A piece sees p, a document as eligible() and its siblings show it, and c, a chunk.
-- A comparison with what is not stated is false, so that each document meets an expression or its opposite.

-- piece: field source
p.source
-- piece: field authority
p.authority
-- piece: field document
p.external_id
-- piece: field type
p.document_type
-- piece: field title
p.title
-- piece: field lang
p.lang
-- piece: field license
p.license
-- piece: field jurisdiction
p.jurisdiction
-- piece: field publisher
p.publisher
-- piece: field url
p.url
-- piece: field item
p.item
-- piece: field edition
p.edition
-- piece: field published_at
p.published_at
-- piece: field revised_at
p.revised_at
-- piece: field valid_from
p.valid_from
-- piece: field valid_to
p.valid_to
-- piece: field labels
p.acl
-- piece: field heading
c.heading_path
-- piece: field kind
c.kind

-- piece: meta text
veraz.meta_text(p.meta #> {path}::text[])
-- piece: meta number
veraz.meta_number(p.meta #> {path}::text[])
-- piece: meta date
veraz.meta_date(p.meta #> {path}::text[])
-- piece: meta boolean
veraz.meta_boolean(p.meta #> {path}::text[])
-- piece: meta list
veraz.meta_list(p.meta #> {path}::text[])

-- piece: lang is null
p.lang = 'und'

-- piece: text =
coalesce({field} = {value}::text, false)
-- piece: text in
coalesce({field} = any ({value}::text[]), false)
-- piece: text ~
coalesce(strpos(veraz.folded({field}), veraz.folded({value}::text)) > 0, false)
-- piece: text is null
{field} is null

-- piece: number =
coalesce({field} = {value}::numeric, false)
-- piece: number <
coalesce({field} < {value}::numeric, false)
-- piece: number <=
coalesce({field} <= {value}::numeric, false)
-- piece: number >
coalesce({field} > {value}::numeric, false)
-- piece: number >=
coalesce({field} >= {value}::numeric, false)
-- piece: number in
coalesce({field} = any ({value}::numeric[]), false)
-- piece: number between
coalesce({field} between {value}::numeric and {second}::numeric, false)
-- piece: number is null
{field} is null

-- piece: date =
coalesce({field} = {value}::date, false)
-- piece: date <
coalesce({field} < {value}::date, false)
-- piece: date <=
coalesce({field} <= {value}::date, false)
-- piece: date >
coalesce({field} > {value}::date, false)
-- piece: date >=
coalesce({field} >= {value}::date, false)
-- piece: date in
coalesce({field} = any ({value}::date[]), false)
-- piece: date between
coalesce({field} between {value}::date and {second}::date, false)
-- piece: date is null
{field} is null

-- piece: boolean =
coalesce({field} = {value}::boolean, false)
-- piece: boolean is null
{field} is null

-- piece: list any
coalesce({field} && {value}::text[], false)
-- piece: list all
coalesce({field} @> {value}::text[], false)
-- piece: list ~
coalesce(strpos(veraz.folded(array_to_string({field}, chr(10))), veraz.folded({value}::text)) > 0, false)
-- piece: list is null
coalesce(cardinality({field}), 0) = 0

-- piece: not
not ({part})

-- piece: condition
and {condition}
-- piece: condition of a chunk
and exists (select from veraz.chunk c
             where c.tenant_id = veraz.current_tenant() and c.chunk_id = {chunk} and {condition} offset 0)
-- piece: condition of a chunk and its document
and exists (select from veraz.chunk c, veraz.filterable(c.revision_id) p
             where c.tenant_id = veraz.current_tenant() and c.chunk_id = {chunk} and {condition} offset 0)
-- piece: condition of a revision
and exists (select from veraz.filterable({revision}) p where {condition} offset 0)
