"""A report as JUnit XML, which continuous-integration services read."""

from xml.etree import ElementTree as ET

from burnpy.conformance.report import Report, Result

__all__ = ["to_junit"]


def to_junit(*reports: Report) -> str:
    """Return one test suite a report, one test case for every check in every cell."""
    root = ET.Element("testsuites")
    for report in reports:
        bad = sum(result.is_bad for result in report.results) + len(report.dead)
        skipped = sum(_is_skipped(result) for result in report.results)
        total = len(report.results) + len(report.dead)
        counts = {"tests": str(total), "failures": str(bad), "skipped": str(skipped), "time": f"{report.seconds:.3f}"}
        suite = ET.SubElement(root, "testsuite", {"name": f"burnpy.{report.backend}.{report.level}", **counts})
        for result in report.results:
            _add(suite, report, result)
        for key in report.dead:
            case = ET.SubElement(suite, "testcase", {"classname": "expected_failures", "name": key})
            ET.SubElement(case, "failure", {"message": "names no check of this level"})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _is_skipped(result: Result) -> bool:
    return result.status != "passed" and not result.is_bad


def _add(suite: ET.Element, report: Report, result: Result) -> None:
    names = {"classname": f"{report.backend}.{result.cell.id.replace('/', '.')}", "name": result.check.id}
    case = ET.SubElement(suite, "testcase", {**names, "time": f"{result.seconds:.4f}"})
    if result.is_bad:
        failure = ET.SubElement(case, "failure", {"message": result.failure.message if result.failure else result.status})
        failure.text = result.describe(report.backend)
    elif _is_skipped(result):
        ET.SubElement(case, "skipped", {"message": f"{result.status}: {result.reason}"})
