"""Lee, Sim, Ye: Magnitude and angle dynamics in training single ReLU neurons (AAAI 2023)."""
