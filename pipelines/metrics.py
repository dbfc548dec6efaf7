"""What Prometheus can ask of a run while it generates, by Ray's own metrics: numbers alone, tagged with the run."""

from pipelines.progress import LineProgress

# Ray puts `ray_` in front, and Prometheus `_total` behind a counter.
COUNTERS = {
    "extraction_generated_tokens": "Tokens generated since this driver started.",
    "extraction_failed_requests": "Requests that failed since this driver started.",
}
GAUGES = {
    "extraction_tokens_done": "Generated tokens of the run, those of earlier drivers included.",
    "extraction_tokens_planned": "The run's largest budget.",
    "extraction_tokens_per_second": "Generated tokens a second since this driver started.",
    "extraction_seconds_left": "Seconds until the largest budget is reached at this rate; 0 where that is not known.",
}


class GenerationMetrics:
    """The metrics of one driver. Exported by Ray on the node that it runs on; needs a Ray that is connected."""

    def __init__(self, run: str) -> None:
        """Declare the metrics.

        Args:
            run: the run's name, the only tag.
        """
        from ray.util.metrics import Counter, Gauge

        tags = {"run": run}
        self._counters = {n: Counter(n, d, ("run",)).set_default_tags(tags) for n, d in COUNTERS.items()}
        self._gauges = {n: Gauge(n, d, ("run",)).set_default_tags(tags) for n, d in GAUGES.items()}

    def part_ended(self, tokens: int, failed: int, shown: LineProgress) -> None:
        """Count one part, and say where the whole stands.

        Args:
            tokens: tokens that the part generated.
            failed: requests of the part that failed.
            shown: progress in tokens, the part included.
        """
        for name, amount in zip(COUNTERS, (tokens, failed), strict=True):
            if amount:
                self._counters[name].inc(amount)
        values = (shown.done, shown.total, shown.rate, shown.seconds_left or 0.0)
        for name, value in zip(GAUGES, values, strict=True):
            self._gauges[name].set(value)
