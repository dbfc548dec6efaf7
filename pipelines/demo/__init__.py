"""The demo: a fictional bank's transcripts, and two small models trained on known documents."""
