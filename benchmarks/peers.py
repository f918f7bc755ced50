"""Who is measured: for every library a function that makes the job of a case ready to run, or None where it has none.

A job is a call without arguments that returns the result as a new array; preparing inputs is not part of it.
"""

# What is measured need not be installed:
# pyright: reportMissingImports=false

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import burnpy
from benchmarks.cases import Case

Job = Callable[[], Any]

TORCH_MODES = {"nearest": "nearest", "nearest_exact": "nearest-exact", "bilinear": "bilinear", "bicubic": "bicubic"}

LARGEST_MATRIX = 1 << 28
"""Elements of the dense matrix that JAX makes for every axis: more would not fit the memory."""


def set_threads(threads: int) -> None:
    """Give every library the same number of threads."""
    burnpy.set_num_threads(threads)
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)
    if importlib.util.find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)


def jobs(case: Case, threads: int) -> Iterator[tuple[str, Job]]:
    """Yield name and job of every library that is installed and does this case; burnpy first."""
    x, grad = case.arrays()
    for name, module, make in [
        ("burnpy", "burnpy", _burnpy),
        ("torch", "torch", _torch),
        ("opencv", "cv2", _opencv),
        ("pillow", "PIL", _pillow),
        ("onnxruntime", "onnxruntime", _onnxruntime),
        ("jax", "jax", _jax),
    ]:
        if importlib.util.find_spec(module):
            job = make(case, x, grad, threads)
            if job is not None:
                yield name, job


def to_numpy(result: Any) -> np.ndarray:
    """Return what a job returned as an array (N, C, ...) or (H, W, C)."""
    return result if isinstance(result, np.ndarray) else np.asarray(result)


def _burnpy(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job:
    options = case.options
    if len(case.size) == 2:
        backend, size = burnpy.backends.NdarrayBackend(), (case.size[0], case.size[1])
        if case.direction == "forward":
            return lambda: backend.interpolate(x, size, options)
        return lambda: backend.interpolate_backward(x, grad, size, options)
    keywords: dict[str, Any] = {
        "mode": options.mode,
        "align_corners": options.align_corners,
        "antialias": options.antialias,
    }
    if case.direction == "forward":
        return lambda: burnpy.interpolate(x, case.size, **keywords)
    return lambda: burnpy.interpolate_backward(x, grad, case.size, **keywords)


def _torch(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job | None:
    import torch

    name = _torch_mode(case)
    if name is None:
        return None
    tensor = torch.from_numpy(np.ascontiguousarray(x))
    g = torch.from_numpy(np.ascontiguousarray(grad))
    if case.layout == "nhwc":
        tensor, g = (t.contiguous(memory_format=torch.channels_last) for t in (tensor, g))
    keywords: dict[str, Any] = {} if name.startswith("nearest") else {"align_corners": False}
    if case.options.antialias:
        keywords["antialias"] = True

    def forward(t: Any = tensor) -> Any:
        return torch.nn.functional.interpolate(t, case.size, mode=name, **keywords)

    try:
        if case.direction == "forward":
            forward()
            return forward
        leaf = tensor.clone().requires_grad_()
        output = forward(leaf)

        def backward() -> Any:
            return torch.autograd.grad(output, leaf, g, retain_graph=True)[0]

        backward()
    except (NotImplementedError, RuntimeError, ValueError):
        return None
    return backward


def _torch_mode(case: Case) -> str | None:
    mode, axes = case.options.mode.value, len(case.size)
    if mode == "lanczos3":
        return "lanczos" if axes == 2 and case.options.antialias else None
    if mode == "bilinear":
        return {1: "linear", 2: "bilinear", 3: "trilinear"}[axes]
    if mode == "bicubic":
        return "bicubic" if axes == 2 else None
    return TORCH_MODES[mode]


def _opencv(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job | None:
    import cv2

    flags = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC}
    flag = flags.get(case.options.mode.value)
    if flag is None or case.options.antialias or case.direction == "backward" or len(case.size) != 2:
        return None
    if case.dtype == "float16":
        return None
    size = (case.size[1], case.size[0])
    if case.layout == "nhwc":
        image = np.ascontiguousarray(x[0].transpose(1, 2, 0))
        return lambda: cv2.resize(image, size, interpolation=flag).transpose(2, 0, 1)[None]
    planes = list(x.reshape(-1, *x.shape[2:]))
    if len(planes) == 1:
        return lambda: cv2.resize(planes[0], size, interpolation=flag)[None, None]
    if len(planes) > 3:
        return None
    return lambda: np.stack([cv2.resize(plane, size, interpolation=flag) for plane in planes])[None]


def _pillow(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job | None:
    from PIL import Image

    filters = {
        "bilinear": Image.Resampling.BILINEAR,
        "bicubic": Image.Resampling.BICUBIC,
        "lanczos3": Image.Resampling.LANCZOS,
    }
    if not case.options.antialias or case.direction == "backward" or case.dtype != "float32" or x.shape[1] > 3:
        return None
    if case.layout == "nhwc":
        return None  # Pillow keeps the channels of a float image apart
    planes = [Image.fromarray(plane) for plane in x[0]]
    size, chosen = (case.size[1], case.size[0]), filters[case.options.mode.value]
    return lambda: np.stack([np.asarray(plane.resize(size, chosen)) for plane in planes])[None]


def _onnxruntime(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job | None:
    if not importlib.util.find_spec("onnx") or case.direction == "backward" or len(case.size) != 2:
        return None
    modes = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
    mode = modes.get(case.options.mode.value)
    if mode is None or case.options.antialias or case.layout == "nhwc" or case.dtype != "float32":
        return None
    import onnxruntime
    from onnx import TensorProto, helper

    coordinates = "asymmetric" if mode == "nearest" else "half_pixel"
    node = helper.make_node(
        "Resize", ["x", "", "", "sizes"], ["y"], mode=mode, coordinate_transformation_mode=coordinates,
        nearest_mode="floor", cubic_coeff_a=-0.75,
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "resize", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, case.result_shape)],
        [helper.make_tensor("sizes", TensorProto.INT64, [4], case.result_shape)],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def _jax(case: Case, x: np.ndarray, grad: np.ndarray, threads: int) -> Job | None:
    methods = {"bilinear": "linear", "lanczos3": "lanczos3"}
    method = methods.get(case.options.mode.value)
    if method is None or case.layout == "nhwc" or case.dtype != "float32" or threads == 1:
        return None  # its number of threads cannot be set; its cubic is another operator
    if max(n * m for n, m in zip(case.shape[2:], case.size, strict=True)) > LARGEST_MATRIX:
        return None
    import jax

    def resize(array: Any) -> Any:
        return jax.image.resize(array, case.result_shape, method, antialias=case.options.antialias)

    array, g = jax.numpy.asarray(x), jax.numpy.asarray(grad)
    if case.direction == "forward":
        forward = jax.jit(resize)
        return lambda: forward(array).block_until_ready()
    backward = jax.jit(lambda cotangent: jax.linear_transpose(resize, array)(cotangent)[0])
    return lambda: backward(g).block_until_ready()
