"""Frames of a run in stretches, which have no inside to look into: a shorter one, from the start of the stretch, leads
to each frame. For the drivers of exact flows, with one output or several."""

from typing import Any

import numpy as np

from reluflow.engine import layout


def frames(machine: Any, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States at ascending clock values, going on from the present state, which begins a stretch."""
    run = machine.run
    run.stride = 2**60
    run.next_frame = run.frames_used = 0
    # Steps taken between stretches are not to look for the frames of an earlier call.
    machine.saved = machine.saved._replace(wanted=np.empty(0))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while run.next_frame < len(wanted):
        start, waits = machine._kept(), _waits(machine)
        status = _one_stretch(machine)
        if status == layout.QUIET:
            found += machine._frames_in_jump(wanted)
            continue
        after, waits_after = machine._kept(), _waits(machine)
        over = status not in (layout.RUNNING, layout.FLUSH)
        while run.next_frame < len(wanted) and (over or wanted[run.next_frame] < after[0]):
            if wanted[run.next_frame] < after[0]:
                found.append(_clipped(machine, start, waits, wanted[run.next_frame]))
            else:
                found.append((after[2][None].copy(), after[3][None].astype(np.int8)))
            run.next_frame += 1
        # Always, so that what follows does not depend on which frames were wanted.
        machine.restore(*after)
        run.wait, run.patience = waits_after
    return np.concatenate([y for y, _ in found]), np.concatenate([c for _, c in found])


def _waits(machine: Any) -> tuple[int, int]:
    """Steps before a jump, and before an implicit step, is tried again: not part of a checkpoint."""
    return int(machine.run.wait), int(machine.run.patience)


def _one_stretch(machine: Any) -> int:
    """One stretch, or step, from here; a status of `layout`."""
    status = layout.PAUSED
    while status == layout.PAUSED:
        status = machine.burst(1)
    machine.run.log_used = machine.run.checkpoints_used = 0
    return status


def _clipped(machine: Any, start: tuple, waits: tuple[int, int], clock: float) -> tuple[np.ndarray, np.ndarray]:
    """The state at `clock`, inside the stretch from `start`."""
    run = machine.run
    machine.restore(*start)
    run.wait, run.patience = waits
    end, run.end = run.end, clock
    status = layout.RUNNING
    while status in (layout.RUNNING, layout.FLUSH):
        status = _one_stretch(machine)
    run.end = end
    _, _, y, code = machine._kept()
    return y[None], code[None].astype(np.int8)
