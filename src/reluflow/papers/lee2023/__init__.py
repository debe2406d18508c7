"""Lee, Sim, Ye: Magnitude and angle dynamics in training single ReLU neurons (AAAI 2023)."""

REFERENCE = r"""
@article{lee2024magnitude,
  author  = {Sangmin Lee and Byeongsu Sim and Jong Chul Ye},
  title   = {Magnitude and angle dynamics in training single {ReLU} neurons},
  journal = {Neural Networks},
  volume  = {178},
  pages   = {106435},
  year    = {2024},
  note    = {arXiv:2209.13394},
}
"""
