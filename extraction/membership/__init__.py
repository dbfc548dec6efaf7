"""Membership inference: does a score tell records that a model was trained on from others? Higher means member."""
