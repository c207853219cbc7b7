"""What bench/scale.py is made of: real chunks, recombination, loading, asking in turn, and what must hold."""
