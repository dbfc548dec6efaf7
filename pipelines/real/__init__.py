"""The test on a model and a corpus that no one here made: see `python -m pipelines.real --help`."""
