"""Ranks generations where the corpus cannot be searched, for people to check. Source: Carlini et al. (2021)."""
