"""The kernels of the flow with k outputs: a_j in R^k, |q|^2 + |b|^2 = 2 [vector_outputs].

What does not depend on the number of outputs is taken from the kernels of one output, which see a neuron through the
forces <b_j, G_i> on its surfaces and the sign 1.
"""
