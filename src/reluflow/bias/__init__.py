"""What the limit of training is compared with: minimum norm, maximum margin, kernel, extremal directions."""
