"""`extraction rank` and `extraction confirm`: candidates where the corpus cannot be searched, and verdicts on them."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines.progress import inert


def rank(
    generations: Annotated[
        Path,
        typer.Argument(
            help="A run directory, or JSON lines or Parquet: id, text or token_ids, prompt, family."
        ),
    ],
    model: Annotated[str, typer.Option("--model", help="Folder or GGUF file of the model that generated.")],
    out: Annotated[Path, typer.Option("--out", help="Directory to write to.")],
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference", help="A smaller model, or one that did not see the data; else no ratio to it."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates of each score and family.")] = 100,
    among: Annotated[
        int,
        typer.Option("--among", min=0, help="Drawn at random from so many at the top; 0: simply the top."),
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of that draw.")] = 0,
    engine: Annotated[
        Literal["transformers", "vllm"], typer.Option("--engine", help="What runs the models.")
    ] = "transformers",
    device: Annotated[Literal["cpu", "cuda"], typer.Option("--device", help="Where they run.")] = "cpu",
    include_text: Annotated[
        bool, typer.Option("--include-text", help="Write prompts and texts into candidates.csv too.")
    ] = False,
    skip_bad_records: Annotated[
        bool,
        typer.Option("--skip-bad-records", help="Count records that cannot be read, and go on; status 0."),
    ] = False,
) -> None:
    """Rank generations by how much more probable the model finds them than it should, for people to check.

    Example: extraction rank runs/answers --model models/chat --reference models/base --out runs/ranked
    """
    from extraction.engines.settings import TransformersSettings, VllmSettings
    from extraction.model import ModelSettings
    from extraction.ranking.candidates import Picking
    from pipelines.rank import RankingModels, RankOptions, rank_generations

    runs_them = (
        VllmSettings(kind="vllm", gpus_per_worker=int(device == "cuda"))
        if engine == "vllm"
        else TransformersSettings(kind="transformers", device=device)
    )
    options = RankOptions(
        models=RankingModels(
            ModelSettings(path=model), ModelSettings(path=reference) if reference else None, runs_them
        ),
        picking=Picking(top, among or None, seed),
        include_text=include_text,
        skip_bad_records=skip_bad_records,
    )
    paths = rank_generations(generations, options, out)
    incomplete = json.loads((out / "ranking.json").read_text(encoding="utf-8"))["incomplete"]
    if incomplete:
        typer.echo(f"INCOMPLETE: {', '.join(incomplete)}.")
    for path in paths:
        typer.echo(inert(str(path)))
    if incomplete and not skip_bad_records:
        raise typer.Exit(2)


def confirm(
    run: Annotated[Path, typer.Argument(help="Directory of `extraction rank` or `run`.")],
    verdicts: Annotated[
        Path, typer.Argument(help="candidates.csv with verdicts: yes, no, unsure, or empty.")
    ],
) -> None:
    """Bring verdicts on candidates back: how many of those checked are memorised, by score, with an interval.

    Example: extraction confirm runs/ranked runs/ranked/candidates.csv
    """
    from pipelines.rank import confirm as count_verdicts

    path = count_verdicts(run, verdicts)
    content = json.loads(path.read_text(encoding="utf-8"))
    for name, found in {"all scores": content["all"], **content["by_score"]}.items():
        share = found["share"]
        interval = f", {share['low']:.0%} to {share['high']:.0%} at 95 %" if share else ""
        typer.echo(f"{name}: {found['confirmed']} of {found['checked']} checked{interval}")
    typer.echo(inert(str(path)))
