"""`python -m pipelines`: the same as the command `extraction`."""

from pipelines.cli import main

main()
