"""The frozen dataclasses that travel between stages. No I/O, no behaviour beyond small derived values."""
