"""What is measured: prompts, engines, windows, passages, growth, identifiers. Knows neither the index nor Ray."""
