"""Boursier, Flammarion: Simplicity bias and optimization threshold in two-layer ReLU networks (ICML 2025)."""

REFERENCE = r"""
@inproceedings{boursier2025threshold,
  author    = {Etienne Boursier and Nicolas Flammarion},
  title     = {Simplicity bias and optimization threshold in two-layer {ReLU} networks},
  booktitle = {International Conference on Machine Learning},
  year      = {2025},
  note      = {arXiv:2410.02348},
}
"""
