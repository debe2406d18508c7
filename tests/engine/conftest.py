import pytest
from support.kernels import plain_engine


@pytest.fixture(scope="session")
def engine():
    """The engine's modules as plain Python."""
    return plain_engine()
