"""The explorer: a page in the browser where one watches a ReLU network learn.

    reluflow explore            serves it on this machine
    rf.show(sol)                puts a finished run into a notebook, no server needed

The page's state is an experiment; what it shows are the numbers of `rf.solve` on it.
"""

from reluflow.explorer.notebook import show

__all__ = ["show"]
