"""What a consumer of the backends for other libraries sees; checked where PyTorch, JAX and SciPy are installed."""

from typing import assert_type

import jax
import numpy as np
import torch
from numpy.typing import NDArray

from burnpy import Backend, InterpolateOptions, interpolate, interpolate_backward
from burnpy.backends import get
from burnpy.backends.jax import JaxBackend
from burnpy.backends.scipy import ScipyBackend
from burnpy.backends.torch import TorchBackend

bilinear = InterpolateOptions("bilinear")


def the_array_type_is_kept(image: NDArray[np.float32], tensor: torch.Tensor, array: jax.Array) -> None:
    assert_type(get("torch"), TorchBackend)
    assert_type(get("torch").interpolate(tensor, (3, 3), bilinear), torch.Tensor)
    assert_type(get("torch").interpolate_backward(tensor, tensor, (2, 2), bilinear), torch.Tensor)
    assert_type(get("jax"), JaxBackend)
    assert_type(get("jax").interpolate(array, (3, 3), bilinear), jax.Array)
    assert_type(get("scipy"), ScipyBackend)
    assert_type(get("scipy").interpolate(image, (3, 3), bilinear), NDArray[np.float32])
    assert_type(interpolate(tensor, 3, backend="torch"), torch.Tensor)
    assert_type(interpolate_backward(tensor, tensor, 2, backend=TorchBackend()), torch.Tensor)
    assert_type(interpolate(array, 3, backend=JaxBackend()), jax.Array)


def they_satisfy_the_protocol() -> None:
    of_torch: Backend[torch.Tensor] = get("torch")
    of_jax: Backend[jax.Array] = get("jax")
    of_scipy: Backend[NDArray[np.float32]] = get("scipy")
    assert (of_torch.name, of_jax.name, of_scipy.name) == ("torch", "jax", "scipy")


if __name__ == "__main__":
    they_satisfy_the_protocol()
