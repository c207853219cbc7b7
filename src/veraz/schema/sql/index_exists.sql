-- Purpose: whether there is an index of that name, valid or not. One row. Reads the catalogue.
select to_regclass(%(index)s) is not null as is_there
