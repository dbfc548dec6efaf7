"""Two or more runs side by side: counts, growth, and what one gives back that another does not.

Text is read to tell passages apart and goes no further: what is written holds counts and passage ids.
"""

from pipelines.compare.compare import compare_runs

__all__ = ["compare_runs"]
