"""The production engine: vLLM in this process, fed token ids, with every sampling field stated."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extraction.engines.results import completed, failed
from extraction.engines.settings import NO_VLLM, VllmSettings
from extraction.engines.stopping import StopStrings
from extraction.errors import InputError
from extraction.model import ModelSettings, adapter_path, model_path, tokenizer_path
from extraction.records import Generation, Request
from extraction.sampling import ResolvedSampling

# vLLM reports its use to a server by default; nothing of a test is sent anywhere. Read when vLLM is imported.
os.environ["VLLM_NO_USAGE_STATS"] = "1"

_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The ranks that vLLM can be prepared for."""


class VllmEngine:
    """Samples with vLLM, on GPUs or on a CPU build. Satisfies `Engine`.

    The same request in another batch may differ in its low bits, so repeats are likely but not promised.
    """

    def __init__(self, settings: VllmSettings, model: ModelSettings, sampling: ResolvedSampling) -> None:
        """Load the model.

        Raises:
            InputError: vLLM is not installed, or cannot take this model or these options.
        """
        self._settings, self._sampling = settings, sampling
        self._stops = StopStrings.load(sampling, model)
        self._adapter = adapter_path(model)
        self._llm = load_vllm(settings, model, self._adapter, bool(sampling.stop_strings))
        config = self._llm.llm_engine.model_config
        self._max_length: int = config.max_model_len
        self._vocabulary: int = config.get_vocab_size()
        self._dtype = str(config.dtype).removeprefix("torch.")

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request; see `Engine`."""
        usable = [i for i, request in enumerate(requests) if self._fits(request)]
        outputs = self._run([requests[i] for i in usable]) if usable else []
        results = {i: self._read(requests[i], output) for i, output in zip(usable, outputs, strict=True)}
        return [results[i] if i in results else failed(request) for i, request in enumerate(requests)]

    def settings_used(self) -> dict[str, str | int | float | None]:
        """Say what really runs; see `Engine`."""
        import torch
        import vllm

        return {
            "kind": self._settings.kind,
            "torch": str(torch.__version__),
            "vllm": vllm.__version__,
            "dtype": self._dtype,
            "max_length": self._max_length,
            "tensor_parallel_size": self._settings.tensor_parallel_size,
            "quantization": self._settings.quantization,
            "adapter": None if self._adapter is None else self._adapter.name,
            "exact_repeats": False,
        }

    def close(self) -> None:
        """Stop vLLM's processes; see `Engine`."""
        llm = self.__dict__.pop("_llm", None)
        if llm is not None:
            llm.llm_engine.engine_core.shutdown()

    def _run(self, requests: Sequence[Request]) -> Sequence[Any]:
        if "_llm" not in self.__dict__:
            raise RuntimeError("this vLLM engine has died or was closed; load another")
        try:
            outputs: Sequence[Any] = self._llm.generate(
                [{"prompt_token_ids": request.prompt_token_ids} for request in requests],
                [self._parameters(request) for request in requests],
                use_tqdm=False,
                lora_request=lora_request(self._adapter),
            )
        except Exception:
            self.close()  # a dead vLLM can keep the next call waiting for ever
            raise
        return outputs

    def _fits(self, request: Request) -> bool:
        prompt = request.prompt_token_ids
        return 0 < len(prompt) < self._max_length and all(0 <= token < self._vocabulary for token in prompt)

    def _parameters(self, request: Request) -> Any:
        """State every field: what is left out would come from vLLM's defaults, which differ between versions."""
        from vllm import SamplingParams

        sampling = self._sampling
        return SamplingParams(
            n=1,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            repetition_penalty=sampling.repetition_penalty,
            presence_penalty=sampling.presence_penalty,
            frequency_penalty=sampling.frequency_penalty,
            seed=request.seed,
            max_tokens=min(request.max_tokens, self._max_length - len(request.prompt_token_ids)),
            min_tokens=0,
            ignore_eos=True,  # the tokenizer's own; the resolved stop tokens below are what ends a generation
            stop_token_ids=list(sampling.stop_token_ids),
            logprobs=0,  # of the sampled token alone
            flat_logprobs=True,
            detokenize=bool(sampling.stop_strings),
            stop=list(sampling.stop_strings),
            include_stop_str_in_output=True,
            skip_special_tokens=False,  # a stop string may be one
        )

    def _read(self, request: Request, output: Any) -> Generation:
        sample = output.outputs[0]
        if sample.finish_reason not in ("stop", "length"):
            return failed(request)
        token_ids, scores = list(sample.token_ids), sample.logprobs
        logprobs = [scores.logprobs[start] for start in scores.start_indices]
        end = self._stops.end(token_ids)
        reason = sample.finish_reason if end is None else "stop"
        return completed(request, token_ids[:end], logprobs[:end], reason)


def check_vllm(model: ModelSettings) -> Path:
    """Find the folder of a model that vLLM can load, with the adapter over it.

    Raises:
        InputError: the model is a GGUF file, or files are missing.
    """
    path, adapter = model_path(model), adapter_path(model)
    if path.is_file():
        raise InputError(
            f"model.path: {path}: vLLM needs a folder of safetensors; convert it, or use transformers"
        )
    if adapter is not None:
        _rank(adapter)
    return path


def load_vllm(
    settings: VllmSettings,
    model: ModelSettings,
    adapter: Path | None,
    tokenizer: bool,
    prefix_caching: bool | None = None,
) -> Any:
    """Load vLLM.

    Args:
        settings: how it runs.
        model: what it runs.
        adapter: folder of a LoRA adapter over the model.
        tokenizer: whether to load one: only where vLLM has to look for stop strings.
        prefix_caching: whether prompts share the work on what they begin with; None lets vLLM decide by the model.

    Raises:
        InputError: vLLM is not installed, or cannot load the model.
    """
    path = check_vllm(model)
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        raise InputError(NO_VLLM) from error
    wanted = settings.model_dump(
        include={"tensor_parallel_size", "gpu_memory_utilization", "max_model_len", "max_num_seqs"}
        | {"quantization", "enforce_eager"},
        exclude_none=True,
    )
    if not settings.gpus_per_worker:
        # vLLM's scheduler, in a process of its own, would spin on a core that the model needs: 190 against 293
        # tokens/s for a model of 135 million parameters on two cores.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    if current_platform.is_cpu():
        # vLLM 0.32 puts back the generator of a prompt that it reads in pieces, which a CPU's generator refuses.
        wanted["enable_chunked_prefill"] = False
    if adapter is not None:
        wanted |= {"enable_lora": True, "max_lora_rank": _rank(adapter)}
    if settings.tensor_parallel_size > 1:
        wanted["distributed_executor_backend"] = (
            "mp"  # the actor has its GPUs already; Ray is not asked again
        )
    try:
        with _llvm_hidden():
            return LLM(
                model=str(path),
                tokenizer=str(tokenizer_path(model)) if tokenizer else None,
                skip_tokenizer_init=not tokenizer,
                trust_remote_code=model.trust_remote_code,
                dtype=model.dtype,
                generation_config="vllm",  # else vLLM fills sampling fields from the model's file behind our back
                logprobs_mode="raw_logprobs",
                enable_prefix_caching=prefix_caching,
                seed=0,
                **wanted,
            )
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:300]  # a setting's fault stands in a line below the first
        raise InputError(f"engine: vLLM cannot load {path}: {reason}") from error


@contextmanager
def _llvm_hidden() -> Iterator[None]:
    """Keep numba's LLVM out of vLLM's sight while it loads.

    vLLM 0.32 looks through the names of every module in the process, and the library object in this one answers any
    name asked of it, `__dict__` too, with a function: loading ends in an AttributeError wherever numba is in use.
    """
    hidden = sys.modules.pop("llvmlite.binding.ffi", None)
    try:
        yield
    finally:
        if hidden is not None:
            sys.modules["llvmlite.binding.ffi"] = hidden


def lora_request(adapter: Path | None) -> Any:
    """What vLLM is told of an adapter with each request."""
    from vllm.lora.request import LoRARequest

    return None if adapter is None else LoRARequest(adapter.name, 1, str(adapter))


def _rank(adapter: Path) -> int:
    """The least rank that vLLM can be prepared for and that holds the adapter's own."""
    file = adapter / "adapter_config.json"
    try:
        rank = int(json.loads(file.read_text(encoding="utf-8"))["r"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"model.adapter: {file}: no rank `r` in it; save the adapter again") from error
    holding = [size for size in _LORA_RANKS if size >= rank]
    if not holding:
        raise InputError(f"model.adapter: {file}: rank {rank} is above {_LORA_RANKS[-1]}, vLLM's highest")
    return holding[0]
