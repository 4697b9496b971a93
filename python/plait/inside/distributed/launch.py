"""plait run: starts a program as several ranks, and ends them together."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile

from plait import errors
from plait.inside.distributed import launch_options, meeting_of_hosts
from plait.inside.distributed.call_logs import MARK
from plait.inside.distributed.rank_processes import GRACE, Output, Rank, adopt, end_ranks, first_failure


def _mark_interruption(call_log):
    """Tells the ranks, which a signal ends, to write their last calls."""
    with contextlib.suppress(OSError):
        os.makedirs(call_log, exist_ok=True)
        with open(os.path.join(call_log, MARK), "w"):
            pass


def _interrupt(number, call_log, output):
    _mark_interruption(call_log)
    later, more = ("SIGTERM", "Ctrl-C") if number == signal.SIGINT else ("SIGKILL", "signal")
    output.write(f"plait run: interrupted by {signal.Signals(number).name}, which the ranks get too; those that do not end get {later} after "
                 f"{GRACE} s, or at the next {more}\n".encode())


def _run_ranks(given, host, port, call_log, outputs):
    """(the rank that failed or None, its code, the signals that came) when all have ended."""
    ranks, signals = [], []
    before = {number: signal.signal(number, lambda number, _: signals.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for local_rank in range(given.nproc_per_node):
            environment = launch_options.environment_of(given, local_rank, host, port, call_log)
            ranks.append(Rank(int(environment["RANK"]), launch_options.command_of(given), environment, outputs, not given.no_prefix))
        failed, code = first_failure(ranks, signals, outputs)
        if failed is None and signals:
            _interrupt(signals[0], call_log, outputs[1])
    finally:
        end_ranks(ranks, signals)
        for number, handler in before.items():
            signal.signal(number, handler)
        for rank in ranks:
            rank.finish()
    return failed, code, signals


def _report(failed, code, output):
    """Shows the last lines of a rank that failed."""
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    text = f"plait run: rank {failed.rank} {how}{':' if failed.last_errors else ''}\n"
    output.write(text.encode() + b"".join(b"  %b\n" % line for line in failed.last_errors))


def _run_and_report(given, host, port, call_log, outputs):
    """(the exit code, True if the last calls of the ranks are kept) of ranks that have ended."""
    failed, code, signals = _run_ranks(given, host, port, call_log, outputs)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(call_log, MARK))
    if failed is not None:
        _report(failed, code, outputs[1])
        code = 128 - code if code < 0 else code
    elif signals:
        code = 128 + signals[0]
    if failed is not None or signals:
        if os.path.isdir(call_log) and os.listdir(call_log):
            outputs[1].write(f"plait run: the last calls of the ranks are in {call_log}\n".encode())
        return code, True
    unwritten = next((each.failure for each in outputs if each.failure is not None), None)
    if unwritten is None:
        return 0, False
    outputs[1].write(f"plait run: the ranks were ended, as their output cannot be written: {unwritten.strerror}\n".encode())
    return 128 + signal.SIGPIPE, False


def run(given):
    """Runs the ranks of this host, and returns the exit code."""
    host, port = launch_options.place_of(given)
    launch_options.expect_usable(given, port)
    store = meeting_of_hosts.serve(host, port, given.nodes == 1) if given.node_rank == 0 else None  # outlives the ranks
    port = store.port if store is not None else port
    outputs = Output(sys.stdout), Output(sys.stderr)
    if given.nodes > 1:
        meeting_of_hosts.Meeting(given, host, port, lambda line: outputs[1].write(f"{line}\n".encode())).hold(store)
    adopt()
    # Ranks write their last calls there when one fails.
    chosen = os.environ.get("PLAIT_CALL_LOG")
    call_log = chosen or tempfile.mkdtemp(prefix="plait_calls_")
    is_kept = False
    try:
        code, is_kept = _run_and_report(given, host, port, call_log, outputs)
        return code
    finally:
        if not chosen and not (is_kept and os.listdir(call_log)):
            shutil.rmtree(call_log)


def main(arguments):
    """The command, with its arguments."""
    try:
        return run(launch_options.parser().parse_args(arguments))
    except KeyboardInterrupt:  # before ranks are started
        print("plait run: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except (errors.Error, OSError) as error:
        # The innermost line of the user is that of Python's own runpy.
        location = getattr(error, "location", "")
        print(str(error).replace(f", at {location}", "") if location else error, file=sys.stderr)
        return 2
