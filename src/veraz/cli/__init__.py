"""The command line: one file per verb. A verb parses, calls the engine, and hands what comes back to `render` or `output`."""
