"""One fault judged, in a module of its own so that a worker process can import it."""

from burnpy.conformance import run
from faulty_backends import FAULTS

BY_NAME = {fault.name: fault for fault in FAULTS}


def judge(name):
    """Return the checks that fail, and those in which the harness itself broke."""
    fault = BY_NAME[name]
    report = run(fault.make(), level=fault.level, select=fault.cells)
    return name, {
        status: {result.check.id for result in report.results if result.status == status} for status in ("failed", "error")
    }
