"""How two vectors of an embedding space are compared."""

from __future__ import annotations

from typing import Literal

Distance = Literal["cosine", "inner_product", "l2"]
"""What orders a space's vectors. Semantic scores are for `cosine` the cosine, for `inner_product` the inner product, for `l2`
1 - d²/2 of the Euclidean distance d. All are finite, higher is better, and of vectors of length 1 they are one number: the
cosine."""
