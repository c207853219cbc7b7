"""A package, so that tests share `tests.support` and `python -m tests.support.golden` finds it."""
