"""Frei, Vardi, Bartlett, Srebro, Hu: Implicit bias in leaky ReLU networks trained on high-dimensional data (ICLR
2023)."""

REFERENCE = r"""
@inproceedings{frei2023implicit,
  author    = {Spencer Frei and Gal Vardi and Peter L. Bartlett and Nathan Srebro and Wei Hu},
  title     = {Implicit bias in leaky {ReLU} networks trained on high-dimensional data},
  booktitle = {International Conference on Learning Representations},
  year      = {2023},
  note      = {arXiv:2210.07082},
}
"""
