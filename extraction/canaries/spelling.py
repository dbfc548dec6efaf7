"""Which tokens can go on spelling a filling of a format, whatever tokenizer cut the text into them."""

from collections import defaultdict
from collections.abc import Sequence

from extraction.canaries.formats import Format
from extraction.token_bytes import TokenBytes

Place = tuple[bytes, int]
"""What is left to spell of a symbol, and the piece that comes after it."""

State = frozenset[Place]
"""Every place of a format at which a text may stand: more than one where symbols begin alike."""


class Spelling:
    """A format as the automaton of its spellings in tokens."""

    def __init__(self, form: Format, token_bytes: TokenBytes, vocabulary: int) -> None:
        """Prepare.

        Args:
            form: the format.
            token_bytes: of the tokenizer.
            vocabulary: its tokens.
        """
        self._pieces = [[symbol.encode() for symbol in piece] for piece in form.pieces]
        if token_bytes.pads_text:  # the tokenizer puts a blank in front, and its tokens spell that too
            self._pieces.insert(0, [b" "])
        self._bytes = token_bytes.bytes_of(range(vocabulary))
        self._by_first_byte: dict[int, list[int]] = defaultdict(list)
        for token, data in enumerate(self._bytes):
            if data:
                self._by_first_byte[data[0]].append(token)
        self._known: dict[State, list[tuple[int, State]]] = {}
        self.start: State = frozenset({(b"", 0)})

    def after(self, tokens: Sequence[int]) -> State:
        """Where the text stands after some tokens; nowhere if they spell no beginning of a filling."""
        return self._advance(self.start, b"".join(self._bytes[token] for token in tokens))

    def is_whole(self, state: State) -> bool:
        """Whether a filling may end here."""
        return (b"", len(self._pieces)) in state

    def next_tokens(self, state: State) -> list[tuple[int, State]]:
        """The tokens that can follow, and where the text stands after each."""
        if state not in self._known:
            candidates = [t for byte in sorted(self._next_bytes(state)) for t in self._by_first_byte[byte]]
            after = [(token, self._advance(state, self._bytes[token])) for token in candidates]
            self._known[state] = [(token, following) for token, following in after if following]
        return self._known[state]

    def _next_bytes(self, state: State) -> set[int]:
        found = set()
        for rest, piece in state:
            if rest:
                found.add(rest[0])
            elif piece < len(self._pieces):
                found |= {symbol[0] for symbol in self._pieces[piece]}
        return found

    def _advance(self, state: State, data: bytes) -> State:
        found: set[Place] = set()
        for rest, piece in state:
            self._spell(rest, piece, data, found)
        return frozenset(found)

    def _spell(self, rest: bytes, piece: int, data: bytes, found: set[Place]) -> None:
        """Spell as much of the data as one symbol takes, then go on with every symbol that may follow."""
        if len(data) <= len(rest):
            if rest.startswith(data):
                found.add((rest[len(data) :], piece))
        elif data.startswith(rest) and piece < len(self._pieces):
            for symbol in self._pieces[piece]:
                self._spell(symbol, piece + 1, data[len(rest) :], found)
