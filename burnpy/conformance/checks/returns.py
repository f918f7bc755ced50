"""What everything else rests on: what the backend says it can is true, and an answer has the right shape and dtype."""

from collections.abc import Iterator

from burnpy.conformance.cases import CELLS, DTYPES, Case, Cell, images
from burnpy.conformance.check import check
from burnpy.conformance.subject import BackendRaised, Failed, Subject, refusals
from burnpy.errors import UnsupportedError

__all__: list[str] = []


def _one(cell: Cell) -> Iterator[Case]:
    yield Case(cell, (1, 1, 2, 2), (3, 3))
    yield Case(cell, (1, 1, 3, 3), (2, 2))


@check("core", _one, needs=(), dtypes="asked")
def check_declares_what_it_can(subject: Subject, case: Case) -> None:
    """What the backend declares supported answers, and what it declares unsupported raises UnsupportedError, so that
    callers can choose a backend by asking.
    """
    declared = subject.declares(case.options, case.backward, case.dtype)
    arguments = subject.arguments(case, case.source())
    subject.judged += 1
    try:
        subject.raw(case, *arguments)
    except refusals() as refusal:
        if declared:
            raise Failed(f"supports() says True, yet it raised {type(refusal).__name__}: {refusal}") from refusal
        if declared is False and not _may_refuse(subject, case, refusal):
            message = f"supports() says False, so UnsupportedError was expected; raised {type(refusal).__name__}: {refusal}"
            raise Failed(message) from refusal
        raise UnsupportedError(str(refusal)) from refusal
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if declared is False:
            message = f"supports() says False, so UnsupportedError was expected; raised {type(error).__name__}: {error}"
            raise Failed(message) from error
        raise BackendRaised(error) from error
    if declared is False:
        raise Failed("supports() says False, yet it answered: a caller who asks would never use it")


def _may_refuse(subject: Subject, case: Case, refusal: Exception) -> bool:
    """Allow DTypeError where the element type is declared unsupported: in this cell alone, or wherever one asks."""
    if isinstance(refusal, UnsupportedError):
        return True
    others = [dtype for dtype in DTYPES if dtype != case.dtype]
    return any(subject.declares(case.options, case.backward, dtype) for dtype in others) or not any(
        subject.declares(cell.options, cell.backward, case.dtype) for cell in CELLS
    )


def _few(cell: Cell) -> Iterator[Case]:
    yield from images(cell, [((1, 1), (2, 3)), ((2, 3), (4, 3)), ((3, 4), (3, 2)), ((5, 4), (3, 7))])
    yield from images(cell, [((4, 4), (4, 4))])
    yield from images(cell, [((3, 5), (4, 6))], lead=(2, 3))


@check("core", _few, needs=("declares_what_it_can",), dtypes="every")
def check_shape_and_dtype(subject: Subject, case: Case) -> None:
    """The result is an array of the same kind as the input, with the shape that sizes and direction say and the dtype of x:
    all else is about its elements.
    """
    arguments = subject.arguments(case, case.source())
    native = subject.guarded(lambda: subject.raw(case, *arguments))
    given: object = arguments[0]
    kind = type(given)
    subject.judge(isinstance(native, kind), f"expected an array of type {kind.__name__}, got {type(native).__name__}")
    result = subject.guarded(lambda: subject.adapter.to_numpy(native))
    subject.judge(
        tuple(result.shape) == case.result_shape,
        f"expected shape {case.result_shape}, got {tuple(result.shape)}",
        case.source(),
    )
    subject.judge(
        result.dtype.name == case.dtype, f"expected dtype {case.dtype}, that of x; got {result.dtype.name}", case.source()
    )
