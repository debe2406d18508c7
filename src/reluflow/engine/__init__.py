"""Compiled kernels: what a run computes, as functions of arrays and records.

The flow: `pack` makes arrays of a problem and `layout` has the positions in them; `field` is the velocity; `coupled`
steps all neurons together by `explicit` and `implicit` steps, finds events with `locate` and resolves them with
`events` and `surfaces`; `frozen` jumps over phases of constant drive; `windows` and `tracer` serve wide problems;
`origin` handles neurons at w = 0; `rare` collects what is not a step.

Descent: `descent`, `fast_forward`, `adams`, `closed_form`. For both, `loss` is the table of losses in compiled form,
and `_jit` has the decorators that compile them.
"""
