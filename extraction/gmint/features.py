"""Writes each sample's gradients as one row of a file, a batch at a time: they are never all in memory."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extraction.errors import InputError
from extraction.gmint.gradients import (
    Differentiated,
    Gradients,
    batches,
    fitting_padding,
    single_gradients,
    vmapped_gradients,
)
from extraction.gmint.projection import Projection
from extraction.gmint.samples import Sample

Rows = NDArray[np.float32]

BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Compression:
    """How a sample's gradients become one row.

    Attributes:
        width: most values of a parameter; a larger one is projected to so many. A multiple of 4.
        seed: of the projections.
        memory_bytes: most bytes of the gradients of a batch, before they are projected.
    """

    width: int = 1024
    seed: int = 0
    memory_bytes: int = 512 * 2**20


@dataclass(frozen=True)
class Written:
    """How features were made.

    Attributes:
        rows: samples.
        width: values of a row.
        vmapped: many gradients at a time, or one by one.
        projected: names of the parameters that were projected.
    """

    rows: int
    width: int
    vmapped: bool
    projected: tuple[str, ...]


def write_features(
    of: Differentiated,
    samples: Sequence[Sample],
    path: Path,
    compression: Compression,
    on_rows: Callable[[int], None] = lambda count: None,
) -> Written:
    """Write float32[samples, features] as a `.npy` file, readable with `numpy.load(mmap_mode="r")`.

    Parameters stand side by side in the order of `of.parameters`. The file appears when it is whole.

    Args:
        of: the model and what of it is differentiated.
        samples: at least one.
        path: of the file.
        compression: what is projected, and how.
        on_rows: called with the number of rows after each batch.

    Raises:
        InputError: a gradient is not finite.
    """
    sizes = {name: of.model.get_parameter(name).numel() for name in of.parameters}
    width = sum(min(size, compression.width) for size in sizes.values())
    projections = {
        name: Projection.drawn(size, compression.width, compression.seed, name)
        for name, size in sizes.items()
        if size > compression.width
    }
    padding = fitting_padding(of, samples)
    most = max(1, compression.memory_bytes // (4 * of.values))
    temporary = path.with_name(path.name + ".tmp")
    rows = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=(len(samples), width))
    try:
        for places in batches(samples, most, BATCH_TOKENS):
            batch = [samples[place] for place in places]
            found = vmapped_gradients(of, batch, padding) if padding else single_gradients(of, batch)
            rows[places] = _rows(found, projections)
            on_rows(len(places))
        rows.flush()
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return Written(len(samples), width, padding is not None, tuple(sorted(projections)))


def _rows(gradients: Gradients, projections: Mapping[str, Projection]) -> Rows:
    flat = {name: gradient.flatten(1).float().numpy() for name, gradient in gradients.items()}
    if not all(np.isfinite(values).all() for values in flat.values()):
        raise InputError("gradients: that of a sample is not finite; look at the model's weights")
    return np.hstack([projections[n](g) if n in projections else g for n, g in flat.items()])
