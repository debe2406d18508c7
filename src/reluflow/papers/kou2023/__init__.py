"""Kou, Chen, Gu: Implicit bias of gradient descent for two-layer ReLU and leaky ReLU networks on nearly-orthogonal data
(NeurIPS 2023)."""
