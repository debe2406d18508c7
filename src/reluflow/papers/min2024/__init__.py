"""Min, Mallada, Vidal: Early neuron alignment in two-layer ReLU networks with small initialization (ICLR 2024)."""

REFERENCE = r"""
@inproceedings{min2024early,
  author    = {Hancheng Min and Enrique Mallada and Ren\'e Vidal},
  title     = {Early neuron alignment in two-layer {ReLU} networks with small initialization},
  booktitle = {International Conference on Learning Representations},
  year      = {2024},
  note      = {arXiv:2307.12851},
}
"""
