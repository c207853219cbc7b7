"""The schema: migrations run once, replayed files run at every upgrade."""
