"""Maennel, Bousquet, Gelly: Gradient descent quantizes ReLU network features (2018)."""

REFERENCE = r"""
@misc{maennel2018gradient,
  author = {Hartmut Maennel and Olivier Bousquet and Sylvain Gelly},
  title  = {Gradient descent quantizes {ReLU} network features},
  year   = {2018},
  note   = {arXiv:1803.08367},
}
"""
