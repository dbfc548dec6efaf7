"""Windows in partitions: every row once, all rows of a window together, the partitions ascending."""

import numpy as np
import pyarrow as pa
import pytest

from extraction.byte_windows import BYTE_WINDOW_SCHEMA
from extraction.places import hash_column
from pipelines.partitions import PARTITIONS, Partitions, split
from pipelines.parts import PartStore


def rows(seed, count):
    rng = np.random.default_rng(seed)
    hashes = np.repeat(rng.integers(0, 256, (count, 16), dtype=np.uint8), 2, axis=0)
    columns = [pa.array(["empty"] * 2 * count), pa.array(np.arange(2 * count)), hash_column(hashes)]
    return pa.Table.from_arrays(columns, schema=BYTE_WINDOW_SCHEMA)


@pytest.mark.parametrize("counts", [(300, 0, 40), (1, 1), ()])
def test_partitions_hold_every_row_of_every_part_in_order_of_the_hashes(tmp_path, counts):
    store, tables = PartStore(str(tmp_path / "windows")), [rows(seed, n) for seed, n in enumerate(counts)]
    for number, table in enumerate(tables):
        store.publish_groups(f"part-{number:05d}", split(table), BYTE_WINDOW_SCHEMA, {})
    found = list(Partitions(store, BYTE_WINDOW_SCHEMA))
    assert len(found) == PARTITIONS
    read = [row for table in found for row in table.to_pylist()]
    written = [row for table in tables for row in table.to_pylist()]
    key = lambda row: (row["hash"], row["number"])  # noqa: E731
    assert sorted(read, key=key) == sorted(written, key=key)
    for table, bits in zip(found, range(PARTITIONS), strict=True):
        assert {value[0] >> 4 for value in table["hash"].to_pylist()} <= {bits}
