"""The embedded engine: a `transformers` model in this process, on a CPU or one GPU."""

import gc
from collections.abc import Sequence

import torch
import transformers

from extraction.engines.decoding import Decoder, batches
from extraction.engines.results import completed, failed
from extraction.engines.settings import TransformersSettings
from extraction.engines.stopping import StopStrings
from extraction.model import ModelSettings, load_model
from extraction.records import Generation, Request
from extraction.sampling import ResolvedSampling


class TransformersEngine:
    """Samples with a `transformers` causal language model. Satisfies `Engine`."""

    def __init__(
        self, settings: TransformersSettings, model: ModelSettings, sampling: ResolvedSampling
    ) -> None:
        """Load the model.

        Raises:
            InputError: the model cannot be loaded.
        """
        if settings.device == "cpu":
            # Sums are split by thread: the number belongs to what makes a request repeat exactly.
            torch.set_num_threads(settings.cpus_per_worker)
        self._settings = settings
        self._model = load_model(model, settings.device)
        config = self._model.config.get_text_config()
        self._vocabulary: int = config.vocab_size
        self._max_length: int | None = getattr(config, "max_position_embeddings", None)
        stops = StopStrings.load(sampling, model)
        self._decoder = Decoder(self._model, sampling, stops, settings.batch_size, self._max_length)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Sample once for each request; see `Engine`."""
        results: dict[int, Generation] = {}
        usable = [i for i, request in enumerate(requests) if self._fits(request)]
        for indices in batches(requests, usable, self._settings.batch_size):
            for i, row in zip(indices, self._decoder.decode([requests[i] for i in indices]), strict=True):
                results[i] = completed(requests[i], row.token_ids, row.logprobs, row.finish_reason)
        return [results[i] if i in results else failed(request) for i, request in enumerate(requests)]

    def settings_used(self) -> dict[str, str | int | float | None]:
        """Say what really runs; see `Engine`."""
        return {
            "kind": self._settings.kind,
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "device": self._settings.device,
            "batch_size": self._settings.batch_size,
            "threads": torch.get_num_threads(),
            "max_length": self._max_length,
            "exact_repeats": self._settings.device == "cpu" and self._model.dtype == torch.float32,
        }

    def close(self) -> None:
        """Free the model; see `Engine`."""
        self.__dict__.pop("_decoder", None)
        self.__dict__.pop("_model", None)
        gc.collect()

    def _fits(self, request: Request) -> bool:
        prompt = request.prompt_token_ids
        if not prompt or (self._max_length is not None and len(prompt) >= self._max_length):
            return False
        return all(0 <= token < self._vocabulary for token in prompt)
