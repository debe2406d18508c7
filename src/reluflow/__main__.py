"""`python -m reluflow` is the command `reluflow`."""

from reluflow.cli import main

if __name__ == "__main__":
    main()
