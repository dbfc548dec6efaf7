"""How it runs: stages on Ray, run directories, the command line, reports."""
