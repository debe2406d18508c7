"""Boursier, Flammarion: Early alignment in two-layer networks training is a two-edged sword (JMLR 2025)."""

REFERENCE = r"""
@article{boursier2025sword,
  author  = {Etienne Boursier and Nicolas Flammarion},
  title   = {Early alignment in two-layer networks training is a two-edged sword},
  journal = {Journal of Machine Learning Research},
  volume  = {26},
  year    = {2025},
  note    = {arXiv:2401.10791},
}
"""
