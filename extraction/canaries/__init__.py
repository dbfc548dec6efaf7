"""Canaries: records planted before training, whose exposure tells how well a model remembers them.

The score is log-perplexity: lower means more memorised. Source: Carlini et al. (2019), "The Secret Sharer".
"""
