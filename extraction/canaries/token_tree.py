"""Token sequences in order, so that those that begin alike lie together: a tree whose nodes are runs of rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_NONE = -1


class TokenTree:
    """A tree of token sequences. The node of a row at depth d is its first d tokens.

    Attributes:
        tokens: int64[n, longest], the sequences in ascending order, filled up with -1.
        lengths: int64[n].
        shared: tokens that all sequences begin with; every sequence has more.
    """

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        """Sort sequences.

        Args:
            sequences: token ids of each; at least one sequence, none empty.
        """
        self.lengths: Ints = np.fromiter(map(len, sequences), np.int64, len(sequences))
        tokens = np.full((len(sequences), int(self.lengths.max())), _NONE, np.int64)
        tokens[np.arange(tokens.shape[1]) < self.lengths[:, None]] = np.concatenate(sequences)
        self._order = np.lexsort(tokens.T[::-1])
        self.tokens, self.lengths = tokens[self._order], self.lengths[self._order]
        # How many tokens each row shares with the row before it; all of them where they are the same.
        differ = self.tokens[1:] != self.tokens[:-1]
        common = np.where(differ.any(1), differ.argmax(1), tokens.shape[1])
        self._common: Ints = np.concatenate([[0], common])
        self.shared = int(min(common.min(initial=tokens.shape[1]), self.lengths.min() - 1))

    def __len__(self) -> int:
        """Sequences."""
        return len(self.lengths)

    def in_given_order(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put values of the sorted sequences back into the order in which those were given."""
        back = np.empty_like(values)
        back[self._order] = values
        return back

    def node_of(self, rows: Ints, depth: int) -> Ints:
        """Number the nodes at a depth, in their order.

        Args:
            rows: ascending; of each node at this depth all rows or none.
            depth: tokens of a node.

        Returns:
            int64[rows], to which node each row belongs.
        """
        numbers: Ints = np.cumsum(self._begins(rows, depth)) - 1
        return numbers

    def children(self, rows: Ints, depth: int) -> tuple[Ints, list[Ints]]:
        """Find the nodes one token deeper that have children themselves.

        Args:
            rows: ascending; of each node at `depth` all rows or none.
            depth: tokens of the nodes above.

        Returns:
            for each such node the number of the node above it, and its rows.
        """
        starts = np.flatnonzero(self._begins(rows, depth + 1))
        ends = np.append(starts[1:], len(rows))
        # Shorter sequences come first: where the last row of a node goes on, something stands below it.
        goes_on = self.lengths[rows[ends - 1]] > depth + 1
        starts, ends = starts[goes_on], ends[goes_on]
        parents = self.node_of(rows, depth)[starts]
        return parents, [rows[start:end] for start, end in zip(starts, ends, strict=True)]

    def _begins(self, rows: Ints, depth: int) -> NDArray[np.bool_]:
        """Whether a row is the first of its node."""
        begins: NDArray[np.bool_] = self._common[rows] < depth
        begins[0] = True
        return begins
