"""Which checks are meant: expressions as ``-k`` takes them, and lists of expected failures."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from burnpy.errors import OptionError

__all__ = ["Selection", "expectation_for", "read_expected_failures"]

_TOKEN = re.compile(r"\s*(\(|\)|[^\s()]+)")


class Selection:
    """An expression of words with ``and``, ``or``, ``not`` and parentheses; a word matches ids that contain it.

    Examples
    --------
    >>> Selection("bicubic and not backward").matches("linear", "bicubic/half_pixel/forward")
    True
    """

    def __init__(self, text: str | None) -> None:
        self.text: str = text or ""
        self._tokens = _TOKEN.findall(self.text)
        self.matches("", "")  # a malformed expression is refused here, not in the middle of a run

    def matches(self, check: str, cell: str) -> bool:
        """Tell whether a check in a cell is selected."""
        if not self._tokens:
            return True
        rest = list(self._tokens)
        value = self._either(rest, f"{check}/{cell}")
        if rest:
            raise OptionError(f"cannot read the expression {self.text!r}: {rest[0]!r} was not expected")
        return value

    def _either(self, rest: list[str], name: str) -> bool:
        value = self._both(rest, name)
        while rest and rest[0] == "or":
            rest.pop(0)
            value = self._both(rest, name) or value
        return value

    def _both(self, rest: list[str], name: str) -> bool:
        value = self._word(rest, name)
        while rest and rest[0] == "and":
            rest.pop(0)
            value = self._word(rest, name) and value
        return value

    def _word(self, rest: list[str], name: str) -> bool:
        word = rest.pop(0) if rest else ""
        if word == "not":
            return not self._word(rest, name)
        if word == "(":
            value = self._either(rest, name)
            if not rest or rest.pop(0) != ")":
                raise OptionError(f"cannot read the expression {self.text!r}: a parenthesis is not closed")
            return value
        if word in ("", ")", "and", "or"):
            raise OptionError(f"cannot read the expression {self.text!r}: a word was expected")
        return word in name


def expectation_for(expected: Mapping[str, str], check: str, cell: str) -> tuple[str | None, str]:
    """Return the key and the reason under which a check in a cell is expected to fail; (None, "") if it is not."""
    name = f"{check}/{cell}"
    for key, reason in expected.items():
        if key in (check, name) or fnmatchcase(name, key) or fnmatchcase(name, key + "/*"):
            return key, reason
    return None, ""


def read_expected_failures(path: Path) -> dict[str, str]:
    """Read a list of expected failures: lines ``check[/mode/variant/direction]: reason``; ``#`` begins a comment line.

    Raises
    ------
    OptionError
        If a line has no reason.
    """
    expected: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            key, _, reason = text.partition(":")
            if not reason.strip():
                raise OptionError(f"{path}, line {number}: expected 'check: reason', got {text!r}; the reason is needed")
            expected[key.strip()] = reason.strip()
    return expected
