"""How results look in a terminal. Nothing here talks to the engine."""
