"""`extraction match`: generations made elsewhere against an index."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.commands.closing import close


def match(
    index: Annotated[Path, typer.Argument(help="The index folder of the corpus.")],
    generations: Annotated[
        Path,
        typer.Argument(
            help="JSON lines or Parquet: id, text or token_ids, and where known prompt and family."
        ),
    ],
    tokenizer: Annotated[str, typer.Option(help="Folder of the tokenizer of the model that generated.")],
    out: Annotated[Path, typer.Option("--out", help="Run directory.")],
    min_tokens: Annotated[int, typer.Option(min=2, help="Tokens of the shortest match that counts.")] = 50,
    skip_bad_records: Annotated[
        bool,
        typer.Option("--skip-bad-records", help="Count records that cannot be read; the run is incomplete."),
    ] = False,
) -> None:
    """Count what generations made elsewhere repeat of a corpus, and report it as a run does.

    Example: extraction match corpus.index answers.jsonl --tokenizer models/chat --out runs/answers
    """
    from pipelines.match_elsewhere import match_generations

    report = match_generations(index, generations, tokenizer, out, min_tokens, skip_bad_records)
    close(report, skip_bad_records)
