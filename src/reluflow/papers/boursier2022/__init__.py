"""Boursier, Pillaud-Vivien, Flammarion: gradient flow of shallow ReLU networks for square loss, orthogonal inputs."""
