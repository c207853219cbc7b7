"""What tests of several stages share: databases from a template, an embedder without a model, corpora, oracles."""
