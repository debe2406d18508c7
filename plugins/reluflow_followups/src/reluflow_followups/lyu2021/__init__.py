"""Lyu, Li, Wang, Arora: Gradient descent on two-layer nets: margin maximization and simplicity bias (NeurIPS 2021)."""

REFERENCE = r"""
@inproceedings{lyu2021gradient,
  author    = {Kaifeng Lyu and Zhiyuan Li and Runzhe Wang and Sanjeev Arora},
  title     = {Gradient descent on two-layer nets: margin maximization and simplicity bias},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {34},
  year      = {2021},
  note      = {arXiv:2110.13905},
}
"""
