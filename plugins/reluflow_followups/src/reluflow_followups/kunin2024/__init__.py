"""Kunin, Raventós, Dominé, Chen, Klindt, Saxe, Ganguli: Get rich quick: exact solutions reveal how unbalanced
initializations promote rapid feature learning (NeurIPS 2024)."""

REFERENCE = r"""
@inproceedings{kunin2024get,
  author    = {Daniel Kunin and Allan Ravent\'os and Cl\'ementine Domin\'e and Feng Chen and David Klindt and
               Andrew Saxe and Surya Ganguli},
  title     = {Get rich quick: exact solutions reveal how unbalanced initializations promote rapid feature learning},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024},
  note      = {arXiv:2406.06158},
}
"""
