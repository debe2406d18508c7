"""What a burst of the flow is told and tells: how it ended, and where each number stands in its two control arrays."""

RUNNING, REACHED, STATIONARY, FLUSH, STALLED, NOT_FINITE, STORM, QUIET, ASIDE = 0, 1, 2, 3, 4, 5, 6, 7, 8

# Places in cf.
CLOCK, STEP, END, RTOL, LOSS0, REST, NEAREST, SPEED, PASSIVE = 0, 1, 2, 3, 4, 5, 6, 7, 8

# Places in ci.
N_STEPS, N_REJECTED, N_EVENTS, N_FIELDS, N_JUMP_EVENTS = 0, 1, 2, 3, 4
EV_USED, CK_USED, FR_NEXT, FR_USED, STRIDE, TICK = 5, 6, 7, 8, 9, 10
WAIT, ORIGIN, CHECKED, N_WINDOWS, PATIENCE, N_STIFF = 11, 12, 13, 14, 15, 16
