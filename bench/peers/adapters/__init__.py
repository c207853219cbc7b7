"""One module a peer, each with a class `Peer` as `worker.py` describes it. What each is set to, and why, stands in `catalogue.py`."""
