"""Boursier, Pillaud-Vivien, Flammarion: gradient flow of shallow ReLU networks for square loss, orthogonal inputs."""

REFERENCE = r"""
@inproceedings{boursier2022gradient,
  author    = {Etienne Boursier and Loucas Pillaud-Vivien and Nicolas Flammarion},
  title     = {Gradient flow dynamics of shallow {ReLU} networks for square loss and orthogonal inputs},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  pages     = {20105--20118},
  year      = {2022},
  note      = {arXiv:2206.00939},
}
"""
