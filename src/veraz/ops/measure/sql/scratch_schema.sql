-- Purpose: a schema for what is tried out, of the maintenance role. As the login itself, in a transaction that is rolled back.
create schema {schema} authorization {role}
