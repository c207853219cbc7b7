"""One module a peer, each with a class `Peer` as `worker.py` describes it. What each is set to stands in `catalogue.py`."""
