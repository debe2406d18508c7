"""Chistikov, Englert, Lazic: Learning a neuron by a shallow ReLU network: dynamics and implicit bias for
correlated inputs (NeurIPS 2023)."""

REFERENCE = r"""
@inproceedings{chistikov2023learning,
  author    = {Dmitry Chistikov and Matthias Englert and Ranko Lazi\'c},
  title     = {Learning a neuron by a shallow {ReLU} network: dynamics and implicit bias for correlated inputs},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023},
  note      = {arXiv:2306.06479},
}
"""
