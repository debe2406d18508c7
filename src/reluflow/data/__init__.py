"""Data sets: `Data(x, y)`, files and generators."""

from reluflow._lazy import near
from reluflow.data.core import Data
from reluflow.data.digits import mnist, mnist_arrays
from reluflow.data.files import from_csv, from_npz
from reluflow.data.generators import (
    blobs,
    gaussian_mixture,
    gaussian_neuron,
    gaussian_neuron_target,
    nearly_orthogonal,
    orthogonal,
    orthogonally_separable,
    orthonormal,
    random_points,
)
from reluflow.data.noise import Noisy, add_noise, flip_labels
from reluflow.data.report import Assumption, Description
from reluflow.data.teachers import teacher, teacher_weights
from reluflow.data.toys import five_points, toy_plane, two_angles, two_points

__all__ = [
    "Assumption",
    "Data",
    "Description",
    "Noisy",
    "add_noise",
    "blobs",
    "five_points",
    "flip_labels",
    "from_csv",
    "from_npz",
    "gaussian_mixture",
    "gaussian_neuron",
    "gaussian_neuron_target",
    "mnist",
    "mnist_arrays",
    "nearly_orthogonal",
    "orthogonal",
    "orthogonally_separable",
    "orthonormal",
    "random_points",
    "teacher",
    "teacher_weights",
    "toy_plane",
    "two_angles",
    "two_points",
]


def __getattr__(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near(name, __all__)}")
