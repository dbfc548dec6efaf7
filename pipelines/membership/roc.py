"""The ROC on logarithmic axes: what an attack finds where false alarms are rare."""

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extraction.membership.rates import roc
from pipelines.parts import write_file
from pipelines.report.svg import COLOURS

Floats = NDArray[np.float64]


def draw_roc(members: Floats, others: Floats, path: Path) -> None:
    """Draw true-positive against false-positive rates into an SVG file.

    Args:
        members: float64[m], m > 0, no NaN.
        others: float64[n], n > 0, no NaN.
        path: of the file, written whole or not at all.
    """
    import matplotlib
    from matplotlib.figure import Figure

    false, true = roc(members, others)
    least = 0.5 / max(members.size, others.size)  # a rate of 0 has no place on such an axis
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.step(
        np.maximum(false, least), np.maximum(true, least), where="post", color=COLOURS["ink"], linewidth=2
    )
    axes.plot([least, 1], [least, 1], color=COLOURS["muted"], linestyle="--", linewidth=1)
    axes.set(xscale="log", yscale="log", xlim=(least, 1), ylim=(least, 1))
    axes.set_xlabel("False-positive rate")
    axes.set_ylabel("True-positive rate")
    sink = BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # real text: it can be searched and read aloud
        figure.savefig(sink, format="svg", metadata={"Date": None})
    write_file(str(path), sink.getvalue())
