"""What the right prompt brings out: known prefixes, the cheap screen, and the three games on identifiers."""
