"""How much of the exact result approximate search finds: measured on demand on one snapshot, and sampled while searches run."""
