"""Compiled kernels: one decorator, and the few machine instructions that numba does not offer by itself.

Everything that is compiled lives in modules that import this one, which only work that needs them imports.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def _source_digest() -> str:
    """Sixteen characters that change with any module of the index."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


# A kernel compiles others into itself, and numba's cache does not notice when one of those has changed.
_FOLDER = Path(getattr(config, "CACHE_DIR", "") or Path(__file__).parent / "__pycache__")
config.CACHE_DIR = str(_FOLDER / _source_digest())  # type: ignore[attr-defined]


def kernel(function: Function) -> Function:
    """Compile a function on its first call, without the interpreter lock, and cache the result on disk."""
    return cast(Function, njit(cache=True, nogil=True)(function))


def plain_kernel(function: Function) -> Function:
    """Compile a function that makes no arrays into its callers: records of many arrays are dear to hand over."""
    options: dict[str, Any] = {"cache": True, "nogil": True, "forceinline": True, "_nrt": False}
    return cast(Function, njit(**options)(function))


def _load64(_context: Any, array: Any, _index: Any) -> Any:
    """Read eight bytes of a byte array at any offset as one little-endian word; no bounds are checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(address)
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


def _trailing_zeros(_context: Any, _word: Any) -> Any:
    """Count the zero bits below the lowest set bit of a word; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


load64 = cast(Callable[[Array, Any], Any], intrinsic(_load64))
trailing_zeros = cast(Callable[[Any], Any], intrinsic(_trailing_zeros))

LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
ONES = np.uint64(0x0101010101010101)


@plain_kernel
def zero_bytes(word: Any) -> Any:
    """Mark each zero byte of a word by its highest bit."""
    return ~(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS)


@plain_kernel
def common_right(a: Array, i: Any, b: Array, j: Any) -> Any:
    """Count the equal bytes of `a[i:]` and `b[j:]`; the caller makes sure that they differ somewhere."""
    n = np.int64(0)
    while True:
        difference = load64(a, i + n) ^ load64(b, j + n)
        if difference != np.uint64(0):
            return n + (trailing_zeros(difference) >> 3)
        n += 8


@plain_kernel
def common_left(a: Array, i: Any, b: Array, j: Any, limit: Any) -> Any:
    """Count the equal bytes before `a[i]` and `b[j]`, at most `limit`."""
    n = np.int64(0)
    while n < limit and a[i - 1 - n] == b[j - 1 - n]:
        n += 1
    return n


@plain_kernel
def same_words(a: Array, i: Any, b: Array, j: Any, words: Any) -> Any:
    """Say whether `8 * words` bytes are equal at `a[i]` and `b[j]`."""
    for w in range(words):
        if load64(a, i + 8 * w) != load64(b, j + 8 * w):
            return False
    return True
