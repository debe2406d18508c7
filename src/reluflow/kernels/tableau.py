"""The order-8 pair of Dormand and Prince with its order-7 dense output, as scipy ships it (Hairer, Norsett, Wanner,
II.5)."""

import numpy as np
from scipy.integrate import DOP853

STAGES = 12
A = np.zeros((16, 16))
A[:12, :12] = DOP853.A
A[12, :12] = DOP853.B
A[13:, :] = DOP853.A_EXTRA
C = np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA])
E3, E5 = np.array(DOP853.E3), np.array(DOP853.E5)
DENSE = np.array(DOP853.D)
