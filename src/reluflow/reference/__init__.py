"""An independent reference solver: gradient flow and descent to 30 digits and more.

It shares no code with the engine: Taylor series of plain weights in arbitrary precision, its own event detection, and
sliding directly from Filippov's definition. Needs python-flint (`reluflow[precise]`).
"""

from reluflow.reference.integrate import flow
from reluflow.reference.iterate import descent
from reluflow.reference.result import Event, Reference

__all__ = ["Event", "Reference", "descent", "flow"]
