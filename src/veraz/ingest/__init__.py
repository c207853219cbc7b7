"""From files to current revisions: discover, parse, chunk, embed, and one short transaction per revision."""
