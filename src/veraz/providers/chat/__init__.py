"""Chat models: what writes when it is asked."""
