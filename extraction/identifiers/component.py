"""The spaCy side: a component that adds `doc.spans["identifiers"]`, a bounded tokenizer, the pipeline."""

import re
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, SpanGroup

from extraction.errors import InputError
from extraction.identifiers.folding import fold
from extraction.identifiers.matching import Candidate, Matcher, resolve
from extraction.identifiers.names import names_in, names_in_columns
from extraction.identifiers.normalise import Locale
from extraction.identifiers.recognisers import recognisers_for
from extraction.identifiers.settings import IdentifierSettings

SPANS_KEY = "identifiers"
NAME_TYPES = frozenset({"PERSON", "ORGANISATION", "PLACE"})

_LONG_RUN = re.compile(r"\S{200}")
_PLAIN_TOKEN = re.compile(r"\w{1,50}|[^\w\s]{1,50}|\s{1,50}")
_LINE = re.compile(r"[^\n]{1,200}\n?|\n")


class IdentifierComponent:
    """Adds identifiers and names to a document; overlaps are resolved to one finding."""

    def __init__(self, settings: IdentifierSettings) -> None:
        """Compile the recognisers."""
        self._locale = Locale(settings.regions, settings.day_first)
        self._names = frozenset(settings.types) & NAME_TYPES
        self._matcher = Matcher(recognisers_for(settings), self._locale)

    def __call__(self, doc: Doc) -> Doc:
        """Write `doc.spans["identifiers"]`.

        Spans end where tokens end; the exact characters are in the group's `attrs["candidates"]`, in the same
        order.
        """
        text = fold(doc.text)
        candidates = [
            *self._matcher.candidates(text),
            *self.names(doc),
            *(names_in_columns(text, self._locale) if "PERSON" in self._names else ()),
        ]
        kept = resolve(candidates)
        spans: list[Any] = [
            doc.char_span(one.start, one.end, label=one.type, alignment_mode="expand") for one in kept
        ]
        doc.spans[SPANS_KEY] = SpanGroup(doc, name=SPANS_KEY, spans=spans, attrs={"candidates": kept})
        return doc

    def names(self, doc: Doc) -> list[Candidate]:
        """The names that the model found in a document."""
        return names_in(doc.ents, self._names, self._locale)


@Language.factory("identifiers", default_config={"settings": {}})
def make_component(nlp: Language, name: str, settings: dict[str, Any]) -> IdentifierComponent:
    """Make the component from plain settings, as spaCy's configs hold them."""
    return IdentifierComponent(IdentifierSettings.model_validate(settings))


class BoundedTokenizer:
    """The model's tokenizer, except for text with an endless word in it.

    spaCy peels affixes off a word one at a time, which is quadratic in its length.
    """

    def __init__(self, inner: Any, vocab: Any) -> None:
        """Wrap `inner`."""
        self._inner = inner
        self._vocab = vocab

    def __call__(self, text: str) -> Doc:
        """Tokenise `text`."""
        if _LONG_RUN.search(text) is None:
            tokens: Doc = self._inner(text)
            return tokens
        return self._doc(_PLAIN_TOKEN.findall(text))

    def lines(self, text: str) -> Doc:
        """Make a document of whole lines, for text that no model is to read: words are the dear part."""
        return self._doc(_LINE.findall(text))

    def _doc(self, words: list[str]) -> Doc:
        return Doc(self._vocab, words=words, spaces=[False] * len(words))


def load_pipeline(settings: IdentifierSettings) -> Language:
    """Load the named-entity model, where names are asked for, and put our component behind it.

    Raises:
        InputError: the model is not installed or has no named-entity component.
    """
    nlp = _load_model(settings) if NAME_TYPES & set(settings.types) else _blank()
    nlp.tokenizer = BoundedTokenizer(nlp.tokenizer, nlp.vocab)
    nlp.add_pipe("identifiers", last=True, config={"settings": settings.model_dump(mode="json")})
    return nlp


def _blank() -> Language:
    import spacy

    return spacy.blank("en")


def _load_model(settings: IdentifierSettings) -> Language:
    import spacy

    unused = ["tagger", "parser", "attribute_ruler", "lemmatizer", "senter", "morphologizer"]
    try:
        nlp = spacy.load(settings.model, exclude=unused)
    except OSError as error:
        raise InputError(
            f"identifiers.model: no spaCy package or folder {settings.model!r}; install it or name another"
        ) from error
    if "ner" not in nlp.pipe_names:
        raise InputError(
            f"identifiers.model: {settings.model!r} has no named-entity component (`ner`); name another"
        )
    _drop_unheard(nlp)
    return nlp


def _drop_unheard(nlp: Language) -> None:
    """Drop a shared `tok2vec` that `ner` does not listen to: it would take half of the time."""
    pipe: Any = nlp.get_pipe("ner")
    if "tok2vec" in nlp.pipe_names and not any(
        layer.name == "tok2vec-listener" for layer in pipe.model.walk()
    ):
        nlp.remove_pipe("tok2vec")
