-- Purpose: the planner's statistics of the copy. As the maintenance role.
analyze {copy}
