"""Boursier, Pillaud-Vivien, Flammarion: Gradient flow dynamics of shallow ReLU networks for square loss and orthogonal inputs (NeurIPS 2022)."""
