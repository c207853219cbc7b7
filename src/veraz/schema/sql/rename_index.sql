-- Purpose: an index that was built beside another takes its place. As the owner.
alter index {index} rename to {named}
