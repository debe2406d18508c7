"""Follow one network, then ask it about any moment."""

import reluflow as rf

data = rf.data.two_points()
init = rf.init.balanced(width=60, dim=data.d, log_scale=-1000.0, seed=0)
problem = rf.Problem(data, init, loss="square")

sol = rf.solve(problem, rf.Flow(rtol=1e-8))  # until convergence
print(sol)

print("crossings:", sol.events.counts())
for t in (0.0, 500.0, 1300.0, 1800.0):
    print(f"t = {t:6.1f}   loss {sol.loss_at(t):.6f}   outputs {sol.outputs_at(t).round(4)}")
