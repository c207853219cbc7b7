"""Attacks on a database: a world with something to steal, attackers, and checks that list what leaks.

A check is a plain function: it takes a `Siege` and returns the leaks that it found, none where the database holds. The tests
run every check on the database as it is installed, and again on one in which a single safeguard was taken away: there it must
find something.
"""
