"""What the true opening words of a training document bring out, from the probability of what follows them."""
