"""Tags the texts of a file with one of two taggers and says what it found and how long that took.

`tagging_worker.py ours|presidio TEXTS FOUND MODEL REGION...`: each line of TEXTS is a text as JSON; FOUND gets one
JSON object. It runs in either tagger's own environment, so each is imported where it is used.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

Found = list[tuple[str, int, int]]
Tag = Callable[[Iterable[str]], list[Found]]

ROUNDS = 3
# Presidio gives a doubtful finding a low score; from here on its own context words have raised it.
LEAST_SCORE = 0.4
OUR_TYPES = {
    "PERSON": "PERSON",
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "CREDIT_CARD": "CREDIT_CARD",
    "IBAN_CODE": "IBAN",
    "US_BANK_NUMBER": "ACCOUNT_NUMBER",
    "UK_NHS": "NHS_NUMBER",
    "US_SSN": "US_SSN",
    "IP_ADDRESS": "IP_ADDRESS",
}


def ours(model: str, regions: list[str]) -> Tag:
    """This project's tagger."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from extraction.identifiers import IdentifierSettings, Tagger

    tagger = Tagger(IdentifierSettings(model=model, regions=tuple(regions)))
    return lambda texts: [[(one.type, one.start, one.end) for one in found] for found in tagger.tag(texts)]


def presidio(model: str, regions: list[str]) -> Tag:
    """Presidio with its recognisers for English text, only the types that both taggers have."""
    import tldextract
    from presidio_analyzer import AnalyzerEngine, BatchAnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    # Else it asks the network for a newer list of host names, and waits for the answer.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())
    chosen = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}
    engine = AnalyzerEngine(nlp_engine=NlpEngineProvider(nlp_configuration=chosen).create_engine())
    engine.registry.remove_recognizer("PhoneRecognizer")
    engine.registry.add_recognizer(PhoneRecognizer(supported_regions=regions))
    batch = BatchAnalyzerEngine(engine)

    def tag(texts: Iterable[str]) -> list[Found]:
        answers = batch.analyze_iterator(
            list(texts), "en", batch_size=64, entities=list(OUR_TYPES), score_threshold=LEAST_SCORE
        )
        return [
            sorted({(OUR_TYPES[one.entity_type], one.start, one.end) for one in found}) for found in answers
        ]

    return tag


def main() -> None:
    name, texts_path, found_path, model, *regions = sys.argv[1:]
    texts = [json.loads(line) for line in Path(texts_path).read_text(encoding="utf-8").splitlines()]
    tag = {"ours": ours, "presidio": presidio}[name](model, regions)
    tag(texts[:20])  # loads the model and warms caches
    seconds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        found = tag(texts)
        seconds.append(time.process_time() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    result = {"found": found, "seconds": min(seconds), "peak_bytes": peak}
    Path(found_path).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
