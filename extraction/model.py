"""The model and the tokenizer under test: where they lie, what they are, how they are loaded.

Weights load from safetensors or GGUF only; pickled weights are refused, because loading them runs code.
Nothing is
downloaded: a name of the Hugging Face hub stands for what its local cache holds.
"""

import hashlib
import io
import threading
from collections.abc import Iterable
from contextlib import nullcontext, redirect_stderr
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from extraction.errors import InputError
from extraction.settings import Settings

BYTE_TOKENIZER = "bytes"
"""As `model.tokenizer`: one token for each byte, for dry runs that have no model."""

_ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "chat_template.jinja",
    "chat_template.json",
)
_CHUNK = 1 << 20
_LOADING = threading.Lock()
"""transformers exchanges methods of all models while it loads one: two at once would leave later ones untied."""


class ModelSettings(Settings):
    """The model under test."""

    path: str | None = Field(
        None,
        description="Folder with safetensors, GGUF file, or name of a model in the local Hugging Face cache.",
    )
    tokenizer: str | None = Field(
        None,
        description="Folder or GGUF file of the tokenizer; the model's own by default; `bytes` for dry runs.",
    )
    revision: str | None = Field(None, description="Revision of a model in the Hugging Face cache.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number format; auto: float32 on a CPU, the checkpoint's own elsewhere."
    )
    adapter: str | None = Field(
        None,
        description="Folder of a LoRA adapter over the model, in safetensors; for vllm, and for gradients.",
    )
    trust_remote_code: bool = Field(False, description="Run Python code that comes with the model.")


def model_path(settings: ModelSettings) -> Path:
    """Find the model's folder or GGUF file.

    Returns:
        A folder that holds `config.json` and safetensors, or a GGUF file.

    Raises:
        InputError: nothing is there, or only weights that are refused.
    """
    if settings.path is None:
        raise InputError("model.path: this engine needs a model; name a folder of safetensors or a GGUF file")
    path = _located(settings.path, settings.revision, "model.path")
    return _gguf(path) if path.is_file() else _weights_folder(path)


def adapter_path(settings: ModelSettings) -> Path | None:
    """Find the folder of the LoRA adapter, if there is one.

    Raises:
        InputError: it lacks `adapter_config.json` or its weights in safetensors.
    """
    if settings.adapter is None:
        return None
    path = Path(settings.adapter).expanduser()
    missing = [name for name in _ADAPTER_FILES if not (path / name).is_file()]
    if missing:
        raise InputError(
            f"model.adapter: {path}: {missing[0]} is missing; name a folder that an adapter was saved to"
        )
    return path


def tokenizer_path(settings: ModelSettings) -> Path:
    """Find the folder or GGUF file that the tokenizer is loaded from.

    Raises:
        InputError: nothing is there, or no tokenizer is in it.
    """
    if settings.tokenizer is None:
        return model_path(settings)
    path = _located(settings.tokenizer, settings.revision, "model.tokenizer")
    if path.is_dir() and not any((path / name).is_file() for name in _TOKENIZER_FILES):
        raise InputError(
            f"model.tokenizer: {path}: no tokenizer files here; name a folder that has tokenizer.json"
        )
    return path


def load_tokenizer(settings: ModelSettings) -> Any:
    """Load the tokenizer.

    Returns:
        A `transformers` tokenizer.

    Raises:
        InputError: it is missing or cannot be read.
    """
    if settings.tokenizer == BYTE_TOKENIZER:
        return _byte_tokenizer()
    path = tokenizer_path(settings)
    from transformers import AutoTokenizer

    folder, gguf_file = _split(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, gguf_file=gguf_file, trust_remote_code=settings.trust_remote_code, local_files_only=True
        )
    except Exception as error:  # the readers of each format raise their own kinds, down to bare Exception
        raise InputError(_cannot_load("model.tokenizer", path, error)) from error
    return _plain(tokenizer)


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """Tokenise a text; no special token is added."""
    ids: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def load_model(settings: ModelSettings, device: str = "cpu", **options: Any) -> Any:
    """Load the model for inference.

    Args:
        settings: which model, in which number format.
        device: a torch device name.
        options: others of `from_pretrained`.

    Returns:
        A `transformers` causal language model in evaluation mode on `device`.

    Raises:
        InputError: it is missing, refused, cannot be read, or lacks some of its weights.
    """
    path = model_path(settings)
    from transformers import AutoModelForCausalLM

    return _loaded(AutoModelForCausalLM, path, settings, device, **options)


def load_classifier(settings: ModelSettings, device: str = "cpu", **options: Any) -> Any:
    """The same for a sequence classifier."""
    path = model_path(settings)
    from transformers import AutoModelForSequenceClassification

    return _loaded(AutoModelForSequenceClassification, path, settings, device, **options)


def load_masked_model(settings: ModelSettings, device: str = "cpu") -> Any:
    """The same for a masked language model, which fills gaps in a text."""
    path = model_path(settings)
    from transformers import AutoModelForMaskedLM

    return _loaded(AutoModelForMaskedLM, path, settings, device)


def _loaded(kind: Any, path: Path, settings: ModelSettings, device: str, **options: Any) -> Any:
    from transformers.utils import logging

    logging.disable_progress_bar()  # workers share the terminal with the run's own bar
    folder, gguf_file = _split(path)
    try:
        with _LOADING, _quiet() if gguf_file else nullcontext():
            model, info = kind.from_pretrained(
                folder,
                gguf_file=gguf_file,
                dtype=torch_dtype(settings, device),
                use_safetensors=True,
                trust_remote_code=settings.trust_remote_code,
                local_files_only=True,
                output_loading_info=True,
                **options,
            )
    except Exception as error:  # as above: no common base class
        raise InputError(_cannot_load("model.path", path, error)) from error
    _refuse_missing_weights(path, info)
    return model.to(device).eval()


def _quiet() -> "redirect_stderr[io.StringIO]":
    """Hide the bar of the GGUF reader, which has no switch; its errors are raised all the same."""
    return redirect_stderr(io.StringIO())


def torch_dtype(settings: ModelSettings, device: str) -> Any:
    """Turn the configured number format into what `transformers` takes."""
    import torch

    if settings.dtype != "auto":
        return getattr(torch, settings.dtype)
    return torch.float32 if device == "cpu" else "auto"


def model_fingerprint(settings: ModelSettings) -> str:
    """Hash the content of the weights and of the model's config, and those of the adapter.

    Returns:
        SHA-256 in hex over the names and bytes of the files; where they lie does not matter.
    """
    path, adapter = model_path(settings), adapter_path(settings)
    added = [] if adapter is None else [adapter / name for name in _ADAPTER_FILES]
    if path.is_file():
        return _hash_files([path], named=False)  # no engine puts an adapter over such a file
    code = path.glob("*.py") if settings.trust_remote_code else ()
    return _hash_files([*path.glob("*.safetensors"), path / "config.json", *code, *added])


def tokenizer_fingerprint(settings: ModelSettings) -> str:
    """Hash the content of the tokenizer's files, SHA-256 in hex."""
    if settings.tokenizer == BYTE_TOKENIZER:
        return hashlib.sha256(BYTE_TOKENIZER.encode()).hexdigest()
    path = tokenizer_path(settings)
    if path.is_file():
        return _hash_files([path], named=False)
    return _hash_files(path / name for name in _TOKENIZER_FILES if (path / name).is_file())


def _hash_files(files: Iterable[Path], named: bool = True) -> str:
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        if named:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _located(name: str, revision: str | None, field: str) -> Path:
    path = Path(name).expanduser()
    if path.exists():
        return path
    cached = _cached(name, revision) if _is_hub_name(name) else None
    if cached is None:
        raise InputError(
            f"{field}: {name}: no such folder or file, and no model of that name in the local cache"
        )
    return cached


def _is_hub_name(name: str) -> bool:
    return name.count("/") == 1 and not name.startswith((".", "/", "~")) and not name.endswith("/")


def _cached(name: str, revision: str | None) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def _gguf(path: Path) -> Path:
    if path.suffix in _PICKLED:
        raise InputError(f"model.path: {path}: pickled weights are refused; convert them to safetensors")
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise InputError(
                f"model.path: {path}: not a GGUF file; name a folder of safetensors or a GGUF file"
            )
    return path


def _weights_folder(path: Path) -> Path:
    if any(path.glob("*.safetensors")):
        if not (path / "config.json").is_file():
            raise InputError(
                f"model.path: {path}: config.json is missing; save the whole model, not its weights alone"
            )
        return path
    ggufs = sorted(path.glob("*.gguf"))
    if len(ggufs) == 1:
        return _gguf(ggufs[0])
    if ggufs:
        raise InputError(f"model.path: {path}: {len(ggufs)} GGUF files; name the one to load")
    if any(file.suffix in _PICKLED for file in path.iterdir()):
        raise InputError(f"model.path: {path}: pickled weights are refused; convert them to safetensors")
    raise InputError(f"model.path: {path}: no safetensors or GGUF file in this folder")


def _split(path: Path) -> tuple[str, str | None]:
    return (str(path.parent), path.name) if path.is_file() else (str(path), None)


def _cannot_load(field: str, path: Path, error: Exception) -> str:
    reason = next(iter(str(error).splitlines()), "")[:200]
    return f"{field}: {path}: cannot be loaded: {type(error).__name__}: {reason}"


def _plain(tokenizer: Any) -> Any:
    """Switch off truncation and padding, which tokenizer.json can carry over from training."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        backend.no_truncation()
        backend.no_padding()
    return tokenizer


def _refuse_missing_weights(path: Path, info: dict[str, Any]) -> None:
    # transformers fills absent weights with random numbers and only warns: a wrong measurement, not a crash.
    absent = sorted(info["missing_keys"])
    if absent:
        raise InputError(f"model.path: {path}: {len(absent)} weights are missing, the first is {absent[0]}")


def _byte_tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<s>", "</s>", *alphabet]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")  # noqa: S106
