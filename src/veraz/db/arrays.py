"""Numbers to the server in its own binary form: a list of Python floats would take longer to write than vectors take to store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from psycopg import postgres
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

_REAL = postgres.types["float4"]
_ITEM = np.dtype([("size", ">i4"), ("value", ">f4")])


@dataclass(frozen=True, slots=True)
class Reals:
    """A one-dimensional array of numbers, as the parameter of a `real[]`."""

    values: NDArray[np.floating]


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = _REAL.array_oid

    def dump(self, obj: Reals) -> Buffer:
        """The format of array_send: dimensions, null flag, type of the elements, length, first index; then each with its size."""
        head = np.array([1, 0, _REAL.oid, len(obj.values), 1], dtype=">i4")
        items = np.empty(len(obj.values), dtype=_ITEM)
        items["size"] = 4
        items["value"] = obj.values
        return head.tobytes() + items.tobytes()


postgres.adapters.register_dumper(Reals, _RealsDumper)
