"""Other engines in the lexical arm: an extension's index, or a service elsewhere. They order, the runtime role permits."""
