"""Which settings find best, and is that more than luck? Many configurations measured, one chosen, on queries that did not choose.

`grid.py` reads what to try; `pipeline.py` has the arms asked once for each way of asking (`kept.py` keeps what they gave) and the
configurations computed from that; `choosing.py` decides, with the figures of `strata.py` on the parts that `folds.py` makes;
`outcome.py` writes it down.
"""
