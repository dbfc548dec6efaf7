"""A run that takes seconds: the deterministic engine, one token for each byte, a corpus of known texts."""

import json
import random

from pipelines.config import parse_config

WORDS = (
    "ledger branch letter account winter quarter harbour meadow copper lantern river stone market garden window "
    "island silver orchard kettle candle bridge valley timber saddle anchor basket pepper needle ribbon thunder"
).split()


def sentence(rng, words=30):
    return " ".join(rng.choice(WORDS) for _ in range(words)) + "."


def write_inputs(folder, seed=0):
    """A corpus (disclaimer in 40 documents, letters in 1, 2 and 5), passages to emit, and public text."""
    rng = random.Random(seed)
    disclaimer = sentence(rng)
    letters = {
        n: [sentence(rng) + f" Ada Whitcombe, account number {20000000 + n * 1000 + i}." for i in range(4)]
        for n in (1, 2, 5)
    }
    texts = [f"{sentence(rng, 8)} {disclaimer}" for _ in range(40)]
    texts += [
        f"{letter} {sentence(rng, 5)}" for n, own in letters.items() for letter in own for _ in range(n)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "corpus.jsonl", "w") as handle:
        for number, text in enumerate(texts):
            handle.write(json.dumps({"id": f"doc-{number}", "text": text}) + "\n")
    emitted = [disclaimer, *(letter for own in letters.values() for letter in own[:3])]
    (folder / "passages.txt").write_text("\n\n".join(emitted))
    (folder / "public.txt").write_text(
        "\n".join(f"Opening hours of the {a} {b} branch" for a in WORDS for b in WORDS[:4])
    )
    (folder / "held_out.jsonl").write_text(
        json.dumps({"id": "h0", "text": f"{disclaimer} {sentence(rng)}"}) + "\n"
    )
    return texts, disclaimer, letters


def raw_config(folder, **changes):
    config = {
        "name": "small",
        "model": {"tokenizer": "bytes"},
        "engine": {"kind": "deterministic", "passages": str(folder / "passages.txt"), "passage_share": 0.2},
        "sampling": {"max_tokens": 300},
        "prompts": {
            "families": {"empty": {"share": 0.5}, "public": {"share": 0.5}},
            "public_text": [str(folder / "public.txt")],
        },
        "corpus": {"sources": [str(folder / "corpus.jsonl")]},
        "budgets": [5000, 10000, 20000],
        "part_requests": 16,
        "workers": 2,
        "seed": 7,
    }
    return config | changes


def small_config(folder, **changes):
    return parse_config(raw_config(folder, **changes), "small")
