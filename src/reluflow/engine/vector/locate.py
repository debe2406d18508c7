"""The first release inside a step, found on its dense output; crossings are those of `engine.locate`."""

from reluflow.engine import locate
from reluflow.engine._jit import calling, inner
from reluflow.engine.locate import between
from reluflow.engine.vector.field import velocity
from reluflow.engine.vector.surfaces import margins


@inner
def margin_at(problem, state, scratch, x, out):
    """Smallest release margin at fraction x of the step, all of them in `out`."""
    step = scratch.step
    between(state, scratch.P, x, scratch.tmp)
    velocity(problem, state, scratch.tmp, step.clock + x * step.h, scratch.K[15], scratch.work)
    return margins(problem, state, scratch.tmp, scratch.work, out)


released_before = calling(locate.released_before, margin_at=margin_at)
first_release = calling(locate.first_release, margin_at=margin_at)
