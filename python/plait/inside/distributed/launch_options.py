"""Options of plait run: its own, and those of torchrun."""

import argparse
import os
import sys

from plait import errors

COMMAND = "plait" if os.path.basename(sys.argv[0]) == "plait" else "python -m plait"  # as the user has called it
PORT_OF_TORCHRUN = 29500

DESCRIPTION = """Starts a program as several ranks, with the environment variables that plait.distributed.init_process_group reads, those of
torchrun: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT. Each line of output begins with its rank. When a rank
fails the others are ended, its last lines are shown again, and its exit code is returned. Ctrl-C interrupts the ranks."""
OTHER_NAMES = "torchrun's names work too: --nproc_per_node, --nnodes, --node_rank, --master_addr, --master_port, --standalone, --no_python."


def cores():
    """Those of this host that this process may use."""
    return len(os.sched_getaffinity(0))


def _ranks_of(text):
    if text in ("auto", "cpu"):
        return cores()
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number of ranks, or auto or cpu for one on each core, not {text!r}") from None


def _add_names_of_torchrun(made):
    for names, options in (
            (["--nproc_per_node"], {"dest": "nproc_per_node", "type": _ranks_of}), (["--nnodes"], {"dest": "nodes", "type": int}),
            (["--node_rank"], {"dest": "node_rank", "type": int}), (["--no_python"], {"dest": "no_python", "action": "store_true"})):
        made.add_argument(*names, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **options)
    made.add_argument("--master_addr", "--master-addr", metavar="HOST", help=argparse.SUPPRESS)
    made.add_argument("--master_port", "--master-port", type=int, metavar="PORT", help=argparse.SUPPRESS)
    made.add_argument("--standalone", action="store_true", help=argparse.SUPPRESS)


def parser():
    """That of the command."""
    made = argparse.ArgumentParser(prog=f"{COMMAND} run", description=DESCRIPTION, epilog=OTHER_NAMES)
    made.add_argument("-n", "--nproc-per-node", type=_ranks_of, default=1, metavar="N", help="ranks on this host (1); auto: one on each core")
    made.add_argument("--nodes", type=int, default=1, metavar="N", help="hosts, on each of which this command runs (1)")
    made.add_argument("--node-rank", type=int, default=0, metavar="K", help="which of the hosts this is, from 0 (0)")
    made.add_argument("--rendezvous", metavar="HOST:PORT", help="where host 0 is reached (localhost:0); port 0 is any that is free")
    made.add_argument("-m", "--module", action="store_true", help="the program is a Python module, as in python -m")
    made.add_argument("--no-python", action="store_true", help="the program is not a Python file")
    made.add_argument("--no-prefix", action="store_true", help="lines of output do not begin with their rank")
    _add_names_of_torchrun(made)
    made.add_argument("program", help="a Python file, unless it is executable and has another ending")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program").required = False
    return made


def _place_in(text):
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit():
        raise errors.ValueError(f"plait run: --rendezvous is {text!r}, expected host:port")
    return host.strip("[]"), int(port)


def place_of(given):
    """(host, port) where the launcher of host 0 serves the store of the job; port 0 is any that is free."""
    of_master = given.master_addr is not None or given.master_port is not None
    if given.standalone:
        host, port = "localhost", 0
    elif not of_master:
        host, port = _place_in("localhost:0" if given.rendezvous is None else given.rendezvous)
    elif given.rendezvous is not None:
        raise errors.ValueError("plait run: both --rendezvous and --master_addr or --master_port are given, expected one of them")
    else:
        usual = PORT_OF_TORCHRUN if given.nodes > 1 else 0
        host, port = given.master_addr or "localhost", usual if given.master_port is None else given.master_port
    if not 0 <= port <= 65535:
        raise errors.ValueError(f"plait run: the port is {port}, expected 0 to 65535")
    return host, port


def expect_usable(given, port):
    """ValueError where options do not fit together."""
    if given.nproc_per_node < 1:
        raise errors.ValueError(f"plait run: -n is {given.nproc_per_node}, expected 1 rank or more")
    if not 0 <= given.node_rank < given.nodes:
        raise errors.ValueError(f"plait run: --node-rank is {given.node_rank} of --nodes {given.nodes}, expected 0 to {given.nodes - 1}")
    if given.nodes > 1 and given.standalone:
        raise errors.ValueError(f"plait run: --standalone is for one host, and --nodes is {given.nodes}")
    if given.nodes > 1 and port == 0:
        raise errors.ValueError.with_hint("plait run: --rendezvous needs a port where there are several hosts",
                                          f"--rendezvous host:{PORT_OF_TORCHRUN}, with the name or address of host 0")


def command_of(given):
    """The command line of a rank."""
    if given.module:
        return [sys.executable, "-u", "-m", given.program, *given.arguments]
    if given.no_python or (not given.program.endswith(".py") and os.access(given.program, os.X_OK)):
        return [given.program, *given.arguments]
    return [sys.executable, "-u", given.program, *given.arguments]


def environment_of(given, local_rank, host, port, call_log):
    """The variables of a rank."""
    per_node, threads = given.nproc_per_node, max(1, cores() // given.nproc_per_node)
    values = {"RANK": given.node_rank * per_node + local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": given.nodes * per_node,
              "LOCAL_WORLD_SIZE": per_node, "GROUP_RANK": given.node_rank, "NODE_RANK": given.node_rank, "GROUP_WORLD_SIZE": given.nodes,
              "MASTER_ADDR": host, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RUN_ID": "none"}
    return {"PLAIT_THREADS": str(threads), "PLAIT_CALL_LOG": call_log, **os.environ, **{name: str(value) for name, value in values.items()}}
