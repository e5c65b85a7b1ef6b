"""Main loop of a node's process: start, spinning, shutdown on a signal, exit status."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, NoReturn, Protocol

import rclpy
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from multi_qp_ros.log_forwarding import NodeLogHandler
from multi_qp_scene.errors import MultiQpError

try:  # several times less CPU time per message; since Kilted
    from rclpy.experimental import EventsExecutor as Executor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as Executor

#: Exit statuses, as of the command line: success; goals missed; invalid parameters or file.
SUCCESS, GOALS_MISSED, BAD_INPUT = 0, 1, 2
#: Nodes communicate by UDP unless the user sets another transport. In the shared memory of Fast DDS a killed process
#: may leave a lock that is never released: a process that sends to it, such as the control loop, then blocks for ever.
TRANSPORT = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
#: Description of valid ROS arguments, for messages.
_ROS_ARGUMENTS = "expected -p NAME:=VALUE, -r FROM:=TO, --params-file FILE.yaml or --log-level LEVEL"
#: Time for the running callback to finish after a signal, and for the shutdown [s].
_PATIENCE, _LONGEST_END = 0.3, 3.0
#: Largest domain whose UDP ports exist.
_LARGEST_DOMAIN = 232
#: Time to wait for other processes after a signal [s].
_LONGEST_WAIT = 0.4
#: Time to wait for the acknowledgement of the last messages [s].
_LONGEST_FLUSH = 0.3


class Worker(Protocol):
    """Interface of a node to `run`."""

    exit_status: int | None

    def work(self) -> float:
        """Do what is due between messages; return the time until something is due next [s]."""

    def failed(self, doing: str, error: Exception) -> None:
        """Handle an exception that `work` or a callback has raised; the node keeps running."""

    def close(self, reason: str, patience: float | None) -> None:
        """Leave the robots in a safe state and report why the node ends; messages can still be sent.

        It waits for other processes for at most `patience` [s]; None: without limit.
        """

    def destroy_node(self) -> None:
        """Destroy the node."""


def post_update() -> None:
    """Exclude all present objects from garbage collection: a full collection stops the loop for 50 ms."""
    gc.collect()
    gc.freeze()


def run(make_node: Callable[[], Any], arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a node until it sets its `exit_status` or a signal ends it, then end the process.

    SIGINT, SIGTERM and SIGHUP shut a node down (`Worker.close`) with status 0. The process ends without the
    interpreter's clean-up, which may wait for threads.
    """
    gc.freeze()
    gc.enable()  # see `start_node.start`
    for name, value in TRANSPORT.items():
        os.environ.setdefault(name, value)
    ending = _ProcessEnd()
    node: Worker | None = None
    executor: Any = None
    status = SUCCESS
    try:
        try:
            ending.begin()
            _init(sys.argv if arguments is None else arguments)
            node = make_node()
            logging.getLogger().addHandler(NodeLogHandler(node))
            executor = Executor()
            executor.add_node(node)
            ending.starting = False
            while not ending.reason and node.exit_status is None:
                _turn(node, executor)
        finally:
            ending.leave()
    except KeyboardInterrupt:
        pass
    except MultiQpError as error:
        _print(f"multi-qp: {error}")
        status = BAD_INPUT
    except Exception:
        _print(traceback.format_exc())
        status = GOALS_MISSED
    ending.leave()
    if node is None:
        gc.collect()  # a node whose constructor raised is still in the graph
    else:
        status = status if ending.reason else node.exit_status or status
        with _printed():
            node.close(ending.reason or f"status {status}", _LONGEST_WAIT if ending.reason else None)
            if not ending.reason:  # an incomplete recording changes it
                status = node.exit_status or status
        with _printed():
            _flush(node)
            if executor is not None:
                executor.shutdown()  # else the node is listed in the graph until its lease ends, 20 s
            node.destroy_node()
    rclpy.try_shutdown()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _init(arguments: Sequence[str]) -> None:
    """Initialise rclpy.

    Raises:
        MultiQpError: an invalid argument after `--ros-args`, parameter file or environment variable of ROS.
    """
    domain = os.environ.get("ROS_DOMAIN_ID", "")
    if domain.isdecimal() and int(domain) > _LARGEST_DOMAIN:  # rcl would end the process with a message of its own
        raise MultiQpError(f"ROS_DOMAIN_ID is {domain}, expected 0 to {_LARGEST_DOMAIN}")
    try:
        remove_ros_args([*arguments])  # checks them; `rclpy.init` would log a line of its own before it raises
        # rclpy's own handlers would shut the context down before the last command is sent
        rclpy.init(args=[*arguments], signal_handler_options=SignalHandlerOptions.NO)
    except rclpy_implementation.UnknownROSArgsError as error:
        raise MultiQpError(f"unknown ROS arguments {error}; {_ROS_ARGUMENTS}") from None
    except rclpy_implementation.RCLInvalidROSArgsError as error:
        raise MultiQpError(f"{_reason(error)}; {_ROS_ARGUMENTS}") from None
    except rclpy_implementation.RCLError as error:
        raise MultiQpError(_reason(error)) from None


def _reason(error: Exception) -> str:
    """Return the message of an error of rcl without the places in its source."""
    return str(error).partition(", at /")[0].strip()


class _ProcessEnd:
    """Signal handling: reason and deadlines of the end of the process.

    A signal interrupts a node under construction at once: it has published nothing. Later the running callback may
    finish within `_PATIENCE`, and is then interrupted. The shutdown is not interrupted, but the system ends the process
    `_LONGEST_END` after a signal.

    Attributes:
        reason: name of the signal; empty before a signal.
        starting: whether the node is under construction.
    """

    def __init__(self) -> None:
        self.reason, self.starting, self._can_interrupt, self._leaving = "", True, False, False

    def begin(self) -> None:
        """Install handlers that set `reason` and raise KeyboardInterrupt after a delay."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._on_signal)
        signal.signal(signal.SIGALRM, self._interrupt)
        sys.unraisablehook = _print_unraisable

    def leave(self) -> None:
        """Raise no more KeyboardInterrupt."""
        if not self._leaving:
            self._leaving = True
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, _LONGEST_END if self.reason else 0.0)

    def _on_signal(self, number: int, _: object) -> None:
        if not self.reason:
            self.reason = signal.Signals(number).name
            if self._leaving:
                signal.setitimer(signal.ITIMER_REAL, _LONGEST_END)
            else:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 if self.starting else _PATIENCE, _PATIENCE)

    def _interrupt(self, *_: object) -> None:
        if not self._leaving:
            raise KeyboardInterrupt


def _print_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Print an exception of a callback from C, but for KeyboardInterrupt: the timer raises it again."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _turn(node: Worker, executor: Any) -> None:
    """Do what is due, then wait for a message and process it; exceptions are passed to `Worker.failed`."""
    try:
        wait = node.work()
    except Exception as error:
        node.failed("work", error)
        wait = 0.01
    try:
        executor.spin_once(timeout_sec=min(0.1, max(0.0, wait)))
    except Exception as error:
        node.failed("callback", error)


def _flush(node: Any) -> None:
    """Wait until all published messages are acknowledged, for at most `_LONGEST_FLUSH`."""
    end = monotonic() + _LONGEST_FLUSH
    for publisher in node.publishers:
        publisher.wait_for_all_acked(Duration(seconds=max(0.0, end - monotonic())))


@contextmanager
def _printed() -> Iterator[None]:
    """Print an exception instead of raising it."""
    try:
        yield
    except Exception:
        _print(traceback.format_exc())


def _print(text: str) -> None:
    with suppress(OSError):  # the terminal may be closed
        print(text, file=sys.stderr)
