"""The engines' settings: one section, told apart by `kind`. Loads no engine: reading a config stays quick."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from extraction.model import ModelSettings
from extraction.settings import Settings

__all__ = [
    "DeterministicSettings",
    "EndpointSettings",
    "EngineSettings",
    "ModelSettings",
    "TransformersSettings",
    "VllmSettings",
]

NO_VLLM = "engine.kind: vllm is not installed; pip install 'extraction[vllm]'"


class TransformersSettings(Settings):
    """The embedded engine: runs anywhere; in float32 on a CPU it repeats itself exactly."""

    kind: Literal["transformers"] = Field("transformers", description="The embedded engine.")
    batch_size: int = Field(
        64, ge=1, le=4096, description="Rows of every batch; short batches are filled up."
    )
    device: str = Field(
        "cpu", pattern=r"^(cpu|cuda(:\d+)?|mps)$", description="Torch device: cpu, cuda or mps."
    )
    cpus_per_worker: int = Field(
        1, ge=1, le=1024, description="CPU cores, and on a CPU the threads, of a worker."
    )
    gpus_per_worker: int = Field(
        0, ge=0, le=1, description="GPUs that Ray sets aside for a worker; 1 with cuda."
    )


class VllmSettings(Settings):
    """The production engine. Options left out are vLLM's own."""

    kind: Literal["vllm"] = Field(description="The production engine.")
    tensor_parallel_size: int = Field(1, ge=1, le=64, description="GPUs that share one copy of the model.")
    gpu_memory_utilization: float = Field(
        0.9, gt=0, le=1, description="Share of each GPU's memory that vLLM takes."
    )
    max_model_len: int | None = Field(
        None, ge=2, description="Most tokens of prompt and output; the model's own."
    )
    max_num_seqs: int | None = Field(None, ge=1, description="Most requests that run at once.")
    quantization: str | None = Field(None, description="Quantisation method, as vLLM names it.")
    enforce_eager: bool = Field(False, description="Skip graph compilation: starts sooner, runs slower.")
    cpus_per_worker: int = Field(1, ge=1, le=1024, description="CPU cores that Ray sets aside for a worker.")
    gpus_per_worker: int = Field(
        1, ge=0, le=64, description="GPUs of a worker: `tensor_parallel_size`; 0 on a CPU."
    )

    @model_validator(mode="after")
    def _as_many_gpus_as_it_uses(self) -> "VllmSettings":
        if self.gpus_per_worker not in (0, self.tensor_parallel_size):
            raise ValueError(
                f"gpus_per_worker: set it to {self.tensor_parallel_size}, as tensor_parallel_size is, or to 0 on "
                "a CPU"
            )
        return self


class EndpointSettings(Settings):
    """A deployed system that speaks the OpenAI protocol."""

    kind: Literal["endpoint"] = Field(description="An OpenAI-compatible server.")
    base_url: str = Field(pattern=r"^https?://[^@\s]+$", description="Address up to and including /v1.")
    model_name: str = Field(min_length=1, description="The model's name on that server.")
    protocol: Literal["completions", "chat"] = Field(
        "completions",
        description="`chat`: prompts are messages, and the server writes its own chat template.",
    )
    system: str | None = Field(None, description="System prompt of the chat.")
    api_key_env: str | None = Field(
        None, description="Environment variable that holds the key; never the key."
    )
    concurrency: int = Field(16, ge=1, le=1024, description="Requests in flight at once.")
    vllm_fields: bool = Field(
        True, description="Send vLLM's additions: top_k, min_p, repetition_penalty, return_token_ids."
    )
    timeout: float = Field(300, gt=0, description="Seconds to wait for one answer.")
    retries: int = Field(6, ge=0, le=100, description="Further tries after 429, 5xx or a broken connection.")
    cpus_per_worker: int = Field(1, ge=1, le=1024, description="CPU cores that Ray sets aside for a worker.")
    gpus_per_worker: Literal[0] = Field(0, description="The server has the GPUs.")

    @model_validator(mode="after")
    def _system_needs_chat(self) -> "EndpointSettings":
        if self.system is not None and self.protocol != "chat":
            raise ValueError("system: a system prompt needs protocol: chat")
        return self


class DeterministicSettings(Settings):
    """A seeded, fast stand-in for tests and dry runs: passages of a text amid random tokens."""

    kind: Literal["deterministic"] = Field(description="A stand-in for tests and dry runs; needs no model.")
    passages: Path | None = Field(None, description="UTF-8 text; its passages are parted by blank lines.")
    passage_share: float = Field(0.5, ge=0, le=1, description="Probability that the next piece is a passage.")
    cpus_per_worker: int = Field(1, ge=1, le=1024, description="CPU cores that Ray sets aside for a worker.")
    gpus_per_worker: Literal[0] = Field(0, description="Needs none.")


EngineSettings = Annotated[
    TransformersSettings | VllmSettings | EndpointSettings | DeterministicSettings,
    Field(discriminator="kind"),
]
