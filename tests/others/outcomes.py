"""A pytest plugin: writes the outcome of each test, one line of JSON each, to the file that PLAIT_OUTCOMES names.
Limits the time of a test, and the memory of all."""

import json
import os
import resource
import signal

import pytest
from face import values

SECONDS = 60
MEMORY = 12 << 30
_found = {}


class TooLong(BaseException):
    """A test exceeded its time limit."""


def pytest_configure():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def stop(*_):
        raise TooLong(f"took more than {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)


def name_of(item):
    """The file's name and the rest of the node id, without the folder."""
    return item.path.name + "::" + item.nodeid.partition("::")[2]


def _line(text):
    return " ".join(str(text).split())[:200]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    noted = _found.setdefault(item.nodeid, {"test": name_of(item), "outcome": "passed", "why": "", "reaches": True})
    if call.when == "setup":
        noted["made"] = repr(values.made)
    if call.when == "call":
        noted["reaches"] = repr(values.made) != noted.get("made", repr(values.made))
    if noted["outcome"] == "failed":  # in an earlier phase of the test
        return report
    if report.skipped:
        noted["outcome"] = "skipped"
        noted["why"] = "expected to fail by its authors" if hasattr(report, "wasxfail") else _line(call.excinfo.value)
    elif report.failed:
        noted["outcome"] = "failed"
        error = call.excinfo.value if call.excinfo else "passes against expectation"
        noted["why"] = f"{type(error).__name__}: {_line(error)}"
        if "PLAIT_OUTCOMES_LONG" in os.environ:
            noted["long"] = str(report.longrepr)[-3000:]
    return report


def pytest_runtest_logfinish(nodeid):
    noted = _found.pop(nodeid, None)
    if noted is not None:
        noted.pop("made", None)
        with open(os.environ["PLAIT_OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(json.dumps(noted) + "\n")
