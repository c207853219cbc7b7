-- Purpose: make room for the next index: the planner would take either.
drop index {index}
