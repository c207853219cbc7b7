"""Who acts: keys, tokens and tenants. Everything here ends in an Identity, and none of it reads a request's body."""
