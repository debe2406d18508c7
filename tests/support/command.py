"""The command `reluflow` in this process."""

import pytest

from reluflow.cli import main


def reluflow(*arguments) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    return int(left.value.code or 0)
