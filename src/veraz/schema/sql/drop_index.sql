-- Purpose: remove an index of a space, if there is one of that name. As the owner.
drop index if exists {index}
