"""Min, Mallada, Vidal: Early neuron alignment in two-layer ReLU networks with small initialization (ICLR 2024)."""
