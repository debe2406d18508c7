"""Kou, Chen, Gu: Implicit bias of gradient descent for two-layer ReLU and leaky ReLU networks on nearly-orthogonal data
(NeurIPS 2023)."""

REFERENCE = r"""
@inproceedings{kou2023implicit,
  author    = {Yiwen Kou and Zixiang Chen and Quanquan Gu},
  title     = {Implicit bias of gradient descent for two-layer {ReLU} and leaky {ReLU} networks on
               nearly-orthogonal data},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {36},
  year      = {2023},
}
"""
