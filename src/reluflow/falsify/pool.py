"""Where runs of a generation are judged: in this process, or on the workers of a Dask scheduler."""

import json
from collections.abc import Iterable
from functools import partial

from reluflow.falsify.judgement import ERROR, Judged
from reluflow.falsify.target import Target
from reluflow.space.core import SingleSpace
from reluflow.space.spec import SingleSpec, Spec


class Here:
    """This process, one run after another."""

    def __init__(self, at: Target):
        self.at = at

    def judge(self, specs: list) -> Iterable[tuple[int, Judged]]:
        for k, spec in specs:
            yield k, self.at.evaluate(spec)

    def close(self) -> None:
        pass


class Many:
    """Local processes, or the workers of a scheduler by its address; a function of the user's travels with them."""

    def __init__(self, at: Target, space, workers: int, scheduler: str | None):
        from reluflow.sweep.pool import Cluster

        self._cluster = Cluster(scheduler, workers, task=partial(_task, at, space))

    def judge(self, specs: list) -> Iterable[tuple[int, Judged]]:
        from reluflow.sweep.pool import Lost

        for k, spec in specs:
            self._cluster.submit(k, json.dumps(spec.numbers))
        left = len(specs)
        while left:
            for k, found in self._cluster.finished(1.0):
                left -= 1
                if isinstance(found, Lost):
                    yield k, Judged(ERROR, 0.0, found.reason or "the worker ended")
                else:
                    yield k, Judged(**json.loads(found))

    def close(self) -> None:
        self._cluster.close()


def _task(at: Target, space, text: str) -> bytes:
    numbers = json.loads(text)
    single = isinstance(space, SingleSpace)
    spec = SingleSpec.read(numbers, space) if single else Spec.read(numbers, space.training)
    return json.dumps(at.evaluate(spec).to_dict()).encode()
