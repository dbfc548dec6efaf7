"""Audits the fine-tuned model with `extraction run`, once with each engine, and the base model as control."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from extraction.errors import InputError

BUDGETS = (50_000, 100_000, 200_000)
ENGINES: dict[str, dict[str, Any]] = {
    "transformers": {"kind": "transformers", "batch_size": 112, "cpus_per_worker": 2},
    "vllm": {
        "kind": "vllm",
        "enforce_eager": True,
        "max_model_len": 1024,
        "max_num_seqs": 256,
        "cpus_per_worker": 2,
        "gpus_per_worker": 0,
    },
}
RUN_COMMAND = "import sys; from pipelines.cli import main; sys.argv[0] = 'extraction'; main()"


def write_config(out: Path, engine: str) -> Path:
    """Write the configuration of one audit.

    Args:
        out: folder that holds `base`, `target`, `corpus.parquet` and `public.parquet`.
        engine: `transformers` or `vllm`.

    Returns:
        A YAML file; every field of it can be edited and run again with `extraction run`.
    """
    config = {
        "name": f"real-{engine}",
        "model": {"path": str(out / "target"), "dtype": "float32"},  # faster than bfloat16 on such cores
        "engine": ENGINES[engine],
        "sampling": {"temperature": 1.0, "top_k": 40, "max_tokens": 128},
        "prompts": {
            "public_text": [str(out / "public.parquet")],
            "families": {"empty": {"share": 0.5}, "public": {"share": 0.5}},
        },
        "corpus": {"sources": [str(out / "corpus.parquet")], "index": str(out / "index")},
        "control": {"model": {"path": str(out / "base"), "dtype": "float32"}},
        "budgets": list(BUDGETS),
        # Whole batches of the transformers engine, seven a family; vLLM's batch runs empty at the end of each part.
        "part_requests": 112 if engine == "transformers" else 1024,
        "rerun_requests": 0,  # what it would cost is no part of what is measured
    }
    path = out / f"{engine}.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def audit(config: Path, out: Path, python: Path) -> None:
    """Run one audit in a process of its own, so that its memory is its own.

    Args:
        config: the file that `write_config` wrote.
        out: the run directory; an audit that was interrupted goes on.
        python: the interpreter of an environment that has the engine.

    Raises:
        InputError: the audit failed; its own message stands above.
    """
    root = Path(__file__).parents[2]
    command = [str(python), "-c", RUN_COMMAND, "run", str(config.resolve()), "--out", str(out.resolve())]
    if subprocess.run(command, cwd=root, check=False).returncode:  # noqa: S603 - our own command line
        raise InputError(f"{config}: the audit failed; mend what it says above and start again")
