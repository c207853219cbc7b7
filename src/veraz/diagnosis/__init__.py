"""Which stage lost a passage that was expected, and what brings it back."""
