"""Windows by the first bits of their hashes: each part is written in row groups, one for each partition of the hashes.

All rows of one window stand in one partition, so a run's windows are merged one partition at a time, however many
there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from extraction.places import hash_bytes
from pipelines.parts import PartStore

PARTITIONS = 16  # of equal size, as hashes are
_BITS = 4


def split(table: pa.Table) -> list[pa.Table]:
    """Split rows with a `hash` into the partitions, ascending, the empty ones included."""
    partition = hash_bytes(table["hash"])[:, 0] >> (8 - _BITS)
    order = np.argsort(partition, kind="stable")
    ends = np.searchsorted(partition[order], np.arange(PARTITIONS + 1))
    return [table.take(order[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)]


@dataclass(frozen=True)
class Partitions:
    """The rows of all parts of a store, one partition after another; only one is ever in memory.

    Attributes:
        store: its parts were published as `split` splits them.
        schema: of its tables.
    """

    store: PartStore
    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.Table]:
        """Read one partition after another."""
        names = self.store.complete()
        for partition in range(PARTITIONS):
            tables = [self.store.read(name, group=partition).cast(self.schema) for name in names]
            yield pa.concat_tables([self.schema.empty_table(), *tables])
