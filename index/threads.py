"""Runs kernels side by side: compiled ones do not hold the interpreter's lock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def side_by_side(function: Callable[..., Result], *columns: Any) -> list[Result]:
    """Call a function with each row of some columns, all at once; the results in order."""
    if len(columns[0]) == 1:
        return [function(*(column[0] for column in columns))]
    with ThreadPoolExecutor(len(columns[0])) as pool:
        return list(pool.map(function, *columns))


def read_ahead(items: Iterator[Result]) -> Iterator[Result]:
    """Yield the items of an iterator, having the next one made while one is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item
