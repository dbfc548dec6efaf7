"""Membership tests: scoring cohorts, audits that were declared beforehand, the release gate over their results."""
