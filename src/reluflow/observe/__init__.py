"""Quantities measured on a run: one function each, returning labelled arrays.

Every function takes a Solution, and measures at its frames, at times `t=`, or at `log_t=`. Dimensions are frame, neuron
and datum, with coordinates `t` and `log_t`. Scales such as e^-100000 cause no underflow: they are
factored out before sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow._lazy import by_file, lazily

_NAMES = by_file(
    paths="activation_path patterns",
    directions="alignment bands class_sums cosines pair_alignment",
    balance="balancedness",
    membership="cones groups signs",
    rates="direction_rate log_norm_rate norm_change log_gradient pl_ratio",
    output="log_outputs margins normalised_margin outputs",
    rank="stable_rank",
    kinks="kink_positions merged",
    record="consistency",
    curvature="sharpness",
    saddles="class_losses escape",
)

__all__ = list(_NAMES)

lazily(__name__, _NAMES)

if TYPE_CHECKING:
    from reluflow.observe.balance import balancedness as balancedness
    from reluflow.observe.curvature import sharpness as sharpness
    from reluflow.observe.directions import alignment as alignment
    from reluflow.observe.directions import bands as bands
    from reluflow.observe.directions import class_sums as class_sums
    from reluflow.observe.directions import cosines as cosines
    from reluflow.observe.directions import pair_alignment as pair_alignment
    from reluflow.observe.kinks import kink_positions as kink_positions
    from reluflow.observe.kinks import merged as merged
    from reluflow.observe.membership import cones as cones
    from reluflow.observe.membership import groups as groups
    from reluflow.observe.membership import signs as signs
    from reluflow.observe.output import log_outputs as log_outputs
    from reluflow.observe.output import margins as margins
    from reluflow.observe.output import normalised_margin as normalised_margin
    from reluflow.observe.output import outputs as outputs
    from reluflow.observe.paths import activation_path as activation_path
    from reluflow.observe.paths import patterns as patterns
    from reluflow.observe.rank import stable_rank as stable_rank
    from reluflow.observe.rates import direction_rate as direction_rate
    from reluflow.observe.rates import log_gradient as log_gradient
    from reluflow.observe.rates import log_norm_rate as log_norm_rate
    from reluflow.observe.rates import norm_change as norm_change
    from reluflow.observe.rates import pl_ratio as pl_ratio
    from reluflow.observe.record import consistency as consistency
    from reluflow.observe.saddles import class_losses as class_losses
    from reluflow.observe.saddles import escape as escape
