"""The backend ``"torch"``: tensors in and out, by PyTorch's own operators, on the device where they are.

What PyTorch does not have, or gets wrong, is refused: lanczos3 without antialias, antialias in half precision, and the
nearest modes at the sizes where its single-precision index picks another sample. Nothing is computed by burnpy instead.
"""

from typing import Any

import torch

from burnpy._cached import cached
from burnpy.errors import DTypeError, UnsupportedError
from burnpy.options import InterpolateMode, InterpolateOptions
from burnpy.protocol import check_grad_shape, check_image_shape, check_supported, checked_sizes

__all__ = ["TorchBackend"]

NAMES = {
    InterpolateMode.NEAREST: "nearest",
    InterpolateMode.NEAREST_EXACT: "nearest-exact",
    InterpolateMode.BILINEAR: "bilinear",
    InterpolateMode.BICUBIC: "bicubic",
    InterpolateMode.LANCZOS3: "lanczos",
}
"""PyTorch's names of the modes."""
DTYPES = ("float16", "bfloat16", "float32", "float64")
HALVES = ("float16", "bfloat16")
HAS_LANCZOS = hasattr(torch.ops.aten, "_upsample_lanczos2d_aa")
MISSING = "PyTorch has lanczos3 antialiased only, from version 2.13 on, antialias in float32 and float64 only"  # measured


class TorchBackend:
    """Resize `torch.Tensor` of float16, bfloat16, float32 or float64 by ``torch.nn.functional.interpolate``.

    See `burnpy.Backend` for the contract. `interpolate` takes part in autograd, as does `interpolate_backward`, of which
    `burnpy.Backend.interpolate_backward` is then the gradient in turn.

    Examples
    --------
    >>> x = torch.tensor([[[[0.0, 1.0]]]])
    >>> TorchBackend().interpolate(x, (1, 3), InterpolateOptions("bilinear"))
    tensor([[[[0.0000, 0.5000, 1.0000]]]])
    """

    name = "torch"

    def supports(
        self, mode: InterpolateMode, /, *, align_corners: bool, antialias: bool, backward: bool, dtype: str
    ) -> bool:
        """Tell whether PyTorch has the combination."""
        if dtype not in DTYPES or (antialias and dtype in HALVES):
            return False
        return mode != InterpolateMode.LANCZOS3 or (antialias and HAS_LANCZOS)

    def interpolate(self, x: torch.Tensor, output_size: tuple[int, int], options: InterpolateOptions, /) -> torch.Tensor:
        """Resize the last two axes of ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate`."""
        sizes = self._checked(x, output_size, options, backward=False)
        if tuple(x.shape[2:]) == sizes:
            return x.clone()
        if not x.numel():
            return x.new_empty((*x.shape[:2], *sizes))
        if _loses_height(x.shape, sizes, options):
            return _forward(x.mT, sizes[::-1], options).mT
        return _forward(x, sizes, options)

    def interpolate_backward(
        self, x: torch.Tensor, grad: torch.Tensor, output_size: tuple[int, int], options: InterpolateOptions, /
    ) -> torch.Tensor:
        """Gradient with respect to ``x``, ``(N, C, H, W)``; see `burnpy.Backend.interpolate_backward`."""
        sizes = self._checked(x, output_size, options, backward=True)
        _require_tensor("grad", grad)
        if (grad.dtype, grad.device) != (x.dtype, x.device):
            raise DTypeError(
                f"grad must have the dtype and device of x, {x.dtype} on {x.device}; got {grad.dtype} on {grad.device}"
            )
        check_grad_shape(x.shape, grad.shape, sizes)
        if tuple(x.shape[2:]) == sizes:
            return grad.clone()
        if not x.numel():
            return grad.new_empty(x.shape)
        if _loses_height(x.shape, sizes, options):
            return _backward(x.mT.shape, grad.mT, sizes[::-1], options).mT
        return _backward(x.shape, grad, sizes, options)

    def _checked(
        self, x: torch.Tensor, output_size: tuple[int, int], options: InterpolateOptions, *, backward: bool
    ) -> tuple[int, ...]:
        """Refuse everything that can be refused, and return the sizes as plain ints."""
        _require_tensor("x", x)
        sizes = checked_sizes(output_size)
        check_image_shape(x.shape, sizes)
        check_supported(self, options, backward=backward, dtype=_dtype_name(x), why=MISSING)
        if options.mode.is_nearest:
            for n, m in zip(x.shape[2:], sizes, strict=True):
                _require_exact_index(options.mode, n, m, x.device.type)
        return sizes


def _forward(x: torch.Tensor, sizes: tuple[int, ...], options: InterpolateOptions) -> torch.Tensor:
    switches: dict[str, Any] = {}
    if not options.mode.is_nearest:
        switches = {"align_corners": options.align_corners, "antialias": options.antialias}
    return torch.nn.functional.interpolate(x, list(sizes), mode=NAMES[options.mode], **switches)


def _backward(shape: torch.Size, grad: torch.Tensor, sizes: tuple[int, ...], options: InterpolateOptions) -> torch.Tensor:
    """Call the operator that autograd would call, without the forward pass that it would need first."""
    stem = NAMES[options.mode].replace("-", "_")
    special = options.antialias or options.mode is InterpolateMode.NEAREST_EXACT
    name = f"{'_' if special else ''}upsample_{stem}2d_{'aa_' if options.antialias else ''}backward"
    corners = () if options.mode.is_nearest else (options.align_corners,)
    result: torch.Tensor = getattr(torch.ops.aten, name)(grad, list(sizes), list(shape), *corners)
    return result


def _loses_height(shape: torch.Size, sizes: tuple[int, ...], options: InterpolateOptions) -> bool:
    """Tell whether PyTorch would leave the height as it is: antialiased, with one column in and out (seen in 2.13)."""
    return options.antialias and shape[3] == sizes[1] == 1


def _require_exact_index(mode: InterpolateMode, n: int, m: int, device: str) -> None:
    if not _picks_exactly(mode, n, m, device):
        raise UnsupportedError(
            f"backend 'torch' does not do mode {mode.value!r} from {n} to {m} samples: PyTorch computes the index in "
            "float32 and picks a wrong sample at this size; the backend 'ndarray' picks the right one"
        )


@cached(4096)
def _picks_exactly(mode: InterpolateMode, n: int, m: int, device: str) -> bool:
    """Ask PyTorch which samples it picks, and compare with the exact index, in whole numbers."""
    column = torch.arange(n, dtype=torch.float32, device=device).reshape(1, 1, n, 1)
    picked = torch.nn.functional.interpolate(column, [m, 1], mode=NAMES[mode]).flatten()
    o = torch.arange(m, device=device)
    exact = o * n // m if mode is InterpolateMode.NEAREST else (2 * o + 1) * n // (2 * m)
    return bool((picked == exact).all())


def _require_tensor(name: str, tensor: object) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise DTypeError(f"{name} must be a torch.Tensor; got {type(tensor).__name__}: convert it with torch.as_tensor")
    if tensor.layout != torch.strided or _dtype_name(tensor) not in DTYPES:
        raise DTypeError(
            f"{name} must be a dense tensor of one of the dtypes {', '.join(DTYPES)}; got {tensor.layout}, {tensor.dtype}"
        )


def _dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
