"""The subcommands of `extraction`, one module for each group."""
