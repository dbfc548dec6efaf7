"""Log-probabilities of given tokens by vLLM: those of the prompt, with prefix caching off.

With it on, a beginning that two prompts share is scored once, and what a text gets depends on what came before it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from extraction.engines.settings import VllmSettings
from extraction.engines.vllm_engine import load_vllm, lora_request
from extraction.model import ModelSettings, adapter_path
from extraction.scoring import LogProbs, Text, check_text


class VllmScorer:
    """Scores texts with vLLM; see `LogProbScorer`."""

    def __init__(self, settings: VllmSettings, model: ModelSettings) -> None:
        """Load a model, and the adapter over it if there is one.

        Raises:
            InputError: vLLM is not installed, or cannot load the model.
        """
        self._adapter = adapter_path(model)
        self._llm = load_vllm(settings, model, self._adapter, tokenizer=False, prefix_caching=False)
        config = self._llm.llm_engine.model_config
        # One token is generated after each prompt, for vLLM has no call that generates none.
        self._longest: int = config.max_model_len - 1
        self._vocabulary: int = config.get_vocab_size()

    def log_probs(self, texts: Sequence[Text]) -> list[LogProbs]:
        """Score texts, in their order; see `LogProbScorer`."""
        for text in texts:
            check_text(text, self._vocabulary)
        known = [[*text.context, *text.tokens][: self._longest] for text in texts]
        asked = [n for n, text in enumerate(texts) if len(known[n]) > len(text.context)]
        scored = dict(zip(asked, self._of_prompts([known[n] for n in asked]), strict=True))
        own = [scored[n][len(text.context) :] if n in scored else _NONE for n, text in enumerate(texts)]
        return [
            LogProbs(found, len(text.tokens) - found.size) for found, text in zip(own, texts, strict=True)
        ]

    def _of_prompts(self, prompts: Sequence[list[int]]) -> list[Any]:
        """The log-probability of every token of each prompt, float32; that of the first, which has none, is 0."""
        from vllm import SamplingParams

        if not prompts:
            return []
        asked = SamplingParams(
            max_tokens=1,
            temperature=0.0,
            ignore_eos=True,
            detokenize=False,
            prompt_logprobs=0,  # of the prompt's own tokens alone
            flat_logprobs=True,
        )
        outputs = self._llm.generate(
            [{"prompt_token_ids": prompt} for prompt in prompts],
            asked,
            use_tqdm=False,
            lora_request=lora_request(self._adapter),
        )
        return [_own_tokens(output.prompt_logprobs) for output in outputs]


_NONE = np.zeros(0, dtype=np.float32)


def _own_tokens(scores: Any) -> Any:
    """The prompt's own token, which vLLM lists first at each place; at the first place it lists nothing."""
    return np.array([0.0, *(scores.logprobs[start] for start in scores.start_indices[1:])], dtype=np.float32)
