"""The `method` part of a report: how it was measured, in values that can be printed."""

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction.model import tokenizer_fingerprint
from extraction.sampling import ResolvedSampling
from pipelines.assemble import round_trip_share
from pipelines.config import RunConfig
from pipelines.progress import inert

if TYPE_CHECKING:
    from index import Index


def method_section(
    config: RunConfig, run: dict[str, Any], sampling: ResolvedSampling, index: "Index", tokenizer: Any
) -> dict[str, Any]:
    """Say how a run was measured.

    Args:
        config: the run's configuration.
        run: the content of run.json.
        sampling: the settings that were really used.
        index: the index that was searched.
        tokenizer: the model's own.
    """
    return {
        "min_tokens": config.min_tokens,
        "min_bytes": config.shortest_match,
        "private_documents": config.private_documents,
        "low_entropy_rule": config.low_entropy.model_dump(mode="json"),
        "near_duplicate_threshold": config.cluster_threshold,
        "identifier_types": identifier_types(config),
        **sampled_section(config, run, sampling),
        **searched_section(config.corpus.kind, index, tokenizer, config.corpus.trained_on),
    }


def sampled_section(config: RunConfig, run: dict[str, Any], sampling: ResolvedSampling) -> dict[str, Any]:
    """Which model was sampled, and how; its arguments are those of `method_section`."""
    # Paths of this machine say nothing to a reader of the report.
    asked = config.engine.model_dump(mode="json", exclude={"passages", "system"}, exclude_none=True)
    engine = asked | run["engine"]
    name = inert(engine.get("model_name") or Path(config.model.path or engine["kind"]).name)
    if config.model.adapter is not None:
        name = f"{name} with {inert(Path(config.model.adapter).name)}"
    families, longest = config.prompts.families, config.prompts.longest(sampling.max_tokens)
    agreement = run["rerun_agreement"] or {}
    return {
        "prompt_families": {
            f: {"share": s.share, "chat_template": s.chat, "kind": s.kind, "max_tokens": longest[f]}
            for f, s in families.items()
        },
        "prompts_fingerprint": run["fingerprints"]["prompts"],
        "sampling": {f: {"value": v["value"], "origin": v["from"]} for f, v in sampling.as_dict().items()},
        "engine": engine,
        "model": {
            "name": name,
            "fingerprint": run["fingerprints"]["model"] or "none",
            "tokenizer_fingerprint": tokenizer_fingerprint(config.model),
        },
        "rerun_agreement": agreement.get("share"),
        "rerun_requests": agreement.get("requests"),
        "versions": run["versions"],
        "stages": stages(run),
    }


def searched_section(
    kind: str, index: "Index", tokenizer: Any, trained_on: str | None = None
) -> dict[str, Any]:
    """What was searched, and how well its bytes survive the tokenizer."""
    info = index.info
    return {
        "round_trip_share": round_trip_share(index, tokenizer),
        "round_trip_reason": None,
        "corpus": {
            "name": inert(", ".join(Path(source).name for source in info.sources) or index.directory.name),
            "kind": kind,
            "trained_on": inert(trained_on) if trained_on else None,
            "documents": info.documents,
            "distinct_documents": info.distinct_documents,
            "text_bytes": info.text_bytes,
            "skipped_records": info.skipped_records,
            "fingerprint": info.fingerprint,
            "window_key": window_key(index.key),
        },
    }


def stages(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What each stage cost so far, in order."""
    return [{"name": name, **cost} for name, cost in run["stages"].items()]


def window_key(key: bytes) -> str:
    """Tell the keys of two indexes apart without showing them: windows' hashes compare only under one key."""
    return blake2b(key, digest_size=8).hexdigest()


def identifier_types(config: RunConfig) -> list[str]:
    """The types of identifiers that were looked for, the user's own included."""
    own = {recogniser.name for recogniser in config.identifiers.recognisers}
    return sorted({*config.identifiers.types, *own})
