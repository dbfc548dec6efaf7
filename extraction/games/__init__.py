"""Three games against a model that was trained on names and numbers: extraction, reconstruction, inference.

Source: Lukas et al. (2023), "Analyzing leakage of personally identifiable information in language models".
"""
