"""Validation of state messages before they reach a run: stamps, publishers, and reports of missing messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import monotonic, time_ns
from typing import Any

from rosgraph_msgs.msg import Clock

from multi_qp_ros import topics
from multi_qp_ros.control_run import ControlRun
from multi_qp_ros.diagnostics import Level
from multi_qp_ros.health import Health
from multi_qp_ros.publisher_watch import PublisherWatch, Topic
from multi_qp_ros.raw_messages import Joints, Root
from multi_qp_ros.state_assembly import MessageStatus

#: Wall-clock time minus steady-clock time [ns] at the start: with it, stamps of arrival never decrease.
_EPOCH = time_ns() - round(monotonic() * 1e9)
#: Time without a command after which the run reports what it waits for [s].
LONG_WAIT = 0.5
#: Largest advance of the states' stamps over /clock [ns].
CLOCK_LAG = 1_000_000_000
#: Largest number of names in a text, and of texts that are logged once.
MOST_LISTED, MOST_LOGGED_ONCE = 5, 100


class StateIntake:
    """Passes messages of the measured state to a run, or rejects them with a reason.

    In lock-step the last rejected message of each topic is stored, as the simulator waits for its answer: it is
    accepted later if it proves valid, because all topics agree or the run is reset.

    Attributes:
        watch: monitors the publishers of the state topics and of the topics that only this node may publish.
    """

    def __init__(
        self,
        node: Any,
        health: Health,
        states: Mapping[str, Topic],
        own: Mapping[str, Topic],
        *,
        lock_step: bool,
        simulated: bool,
    ) -> None:
        """Begin without any message.

        Args:
            node: the subscribing node.
            health: diagnostics of the node.
            states: topics of the measured state, by `<subsystem>/joint_states` and the like.
            own: topics that no other node must publish.
            lock_step: whether the simulator waits for the command to each state.
            simulated: whether all stamps are of the clock on /clock.
        """
        self._node, self._health, self._lock_step, self._simulated = node, health, lock_step, simulated
        clock = {topics.CLOCK: Topic(topics.CLOCK, Clock)} if simulated else {}
        self.watch = PublisherWatch(node, {**states, **own, **clock})
        self._states = tuple(states)
        self._reset = f"{node.get_fully_qualified_name()}/reset"
        self._refused: dict[str, Callable[[ControlRun], MessageStatus]] = {}
        self._ahead: dict[str, str] = {}
        self._logged_once: set[str] = set()
        self._clock = self._newest_at_clock = 0

    def begin(self, run: ControlRun, *, anew: bool = False) -> None:
        """Begin with a run without any state; `anew`: with the messages that an earlier run rejected."""
        run.assembler.excluded = self.watch.rivals
        refused, self._refused = self._refused, {}
        if anew:
            for put in refused.values():
                put(run)

    def take_joints(self, run: ControlRun, subsystem: str, joints: Joints) -> MessageStatus:
        """Pass a joint state to the run."""

        def put(run: ControlRun, stamp: int, at: float | None) -> MessageStatus:
            return run.assembler.put_joints(subsystem, stamp, at, joints.names, joints.position, joints.velocity)

        topic = topics.joint_states(subsystem)
        message_status = self._take(run, topic, joints.stamp, put)
        if unknown := run.assembler.unknown_names(subsystem):
            names = ", ".join(repr(name[:60]) for name in unknown[:MOST_LISTED])
            self._warn_once(f"{topic} names joints that the subsystem does not have; they are ignored: {names}")
        if len(joints.effort) not in (0, len(joints.names)):
            self._warn_once(
                f"{topic} has {len(joints.names)} names and {len(joints.effort)} efforts; efforts are ignored"
            )
        return message_status

    def take_root(self, run: ControlRun, subsystem: str, root: Root) -> MessageStatus:
        """Pass odometry to the run."""

        def put(run: ControlRun, stamp: int, at: float | None) -> MessageStatus:
            return run.assembler.put_root(subsystem, stamp, at, root.pose, root.twist)

        return self._take(run, topics.odom(subsystem), root.stamp, put)

    def _take(
        self, run: ControlRun, topic: str, stamp: int, put: Callable[[ControlRun, int, float | None], MessageStatus]
    ) -> MessageStatus:
        now = monotonic()
        self.watch.record(topic, now)
        message_status = put(run, stamp, None) if self._lock_step else self._put_now(run, topic, stamp, put, now)
        if message_status is MessageStatus.JUMPED_BACK and not run.begun:  # any start time is valid before a command
            run.reset_states()
            self.begin(run)
            message_status = put(run, stamp, None) if self._lock_step else MessageStatus.REPEATED
        if message_status is MessageStatus.TAKEN:
            if self._health.refusals or self._ahead or self._refused:
                self._take_others(run, topic)
        elif message_status is not MessageStatus.REPEATED:
            if self._lock_step:
                self._refused[topic] = lambda run: put(run, stamp, None)
            if message_status is not MessageStatus.AHEAD:
                self._health.statistics.count("outdated_messages")
            self._explain(run, topic, stamp, message_status)
        return message_status

    def _put_now(
        self,
        run: ControlRun,
        topic: str,
        stamp: int,
        put: Callable[[ControlRun, int, float | None], MessageStatus],
        now: float,
    ) -> MessageStatus:
        if not stamp:
            self._warn_once(f"{topic} has no stamps: its messages count as measured when they arrive")
            stamp = int(self._node.get_clock().now().nanoseconds) if self._simulated else _EPOCH + round(now * 1e9)
        by = run.arrivals.ahead(topic, stamp, now)
        if by is not None:
            if by:
                self._health.refuse(topic, f"its stamp of {_seconds(stamp)} is {by:.3f} s ahead of the earlier ones")
            return MessageStatus.REPEATED
        at = run.arrivals.measured(topic, stamp, now)
        if topic == run.assembler.topics[0]:
            run.rate_controller.record_state(at)
        return put(run, stamp, at)

    def _take_others(self, run: ControlRun, topic: str) -> None:
        """After an accepted message, accept stored rejected messages that are valid now: time may have advanced."""
        if run.assembler.agreed_ahead:
            self._ahead.clear()
        elif topic in self._ahead:
            self._health.refuse(topic, self._ahead.pop(topic))
        self._refused.pop(topic, None)
        self._health.refusals.pop(topic, None)
        for other, put in tuple(self._refused.items()):
            if put(run) is MessageStatus.TAKEN:
                del self._refused[other]

    def _explain(self, run: ControlRun, topic: str, stamp: int, message_status: MessageStatus) -> None:
        if message_status is MessageStatus.AHEAD:
            by = (stamp - run.assembler.newest) * 1e-9
            self._ahead[topic] = f"its stamp of {_seconds(stamp)} is {by:.3f} s ahead of those of the other topics"
            return  # not yet: the other topics may confirm it
        if message_status is MessageStatus.CONTRADICTORY:
            reason = f"its stamp stays at {_seconds(stamp)} while its data change"
        elif message_status is MessageStatus.JUMPED_BACK:
            by = ((run.assembler.stamp(topic) or 0) - stamp) * 1e-9
            reason = f"its stamps went back by {by:.3f} s; if the robots were restarted, call {self._reset}"
        else:
            return
        self._health.refuse(topic, reason)

    def _warn_once(self, message: str) -> None:
        if message not in self._logged_once and len(self._logged_once) < MOST_LOGGED_ONCE:
            self._logged_once.add(message)
            self._health.warn(message)

    def check_clock(self, now: float) -> str | None:
        """Return why a jump back of /clock does not reset the run, "" if it does, None while that is undecided."""
        self.watch.look_at(topics.CLOCK, now)
        if self.watch.is_undecided(topics.CLOCK, now):
            return None
        rivals = self.watch.rivals.get(topics.CLOCK)
        return f"it jumped back, but {rivals}" if rivals else ""

    def check(self, run: ControlRun, now: float, answered: float) -> None:
        """Report faults of publishers and /clock, and missing messages; to be called once a second.

        Args:
            run: the present run.
            now: time of the steady clock [s].
            answered: time of the last command [s].
        """
        unused = [text for topic, text in self.watch.rivals.items() if topic not in self._states]
        for text in (*unused, *self.watch.listed.values()):
            self._health.warn(text)
        for topic in tuple(self._ahead):
            self._health.refuse(topic, self._ahead.pop(topic))
        if self._simulated:
            self._check_clock(run)
        if not self._lock_step and (lost := run.contact_forces.lost(now)):
            self._health.warn(f"no measured force of {', '.join(lost)}: touchdowns are found by the height of the feet")
        if now - answered > LONG_WAIT:
            self._health.set_status(*self._waiting(run, now, answered), lasting=True)

    def _check_clock(self, run: ControlRun) -> None:
        clock, newest = int(self._node.get_clock().now().nanoseconds), run.assembler.newest
        if clock != self._clock or newest < self._newest_at_clock:
            self._clock, self._newest_at_clock = clock, newest
        elif newest - self._newest_at_clock > CLOCK_LAG:
            what = f"/clock stands at {_seconds(clock)}" if clock else "/clock has not come"
            why = self.watch.explain(topics.CLOCK)
            self._health.warn(f"{what}, while states have gone on to {_seconds(newest)} ({why})")

    def _waiting(self, run: ControlRun, now: float, answered: float) -> tuple[Level, str]:
        """Return level and text of the messages that a run without recent commands waits for."""
        assembler = run.assembler
        newest = _seconds(assembler.newest)
        if assembler.missing:
            return Level.WARN, f"waiting for {self._listed(assembler.missing, now)}"
        since = f"no answer for {now - answered:.1f} s"
        behind = assembler.behind(assembler.clock)
        if behind:
            stamps = ", ".join(f"{topic} of {_seconds(assembler.stamp(topic) or 0)}" for topic in behind[:MOST_LISTED])
            text = f"waiting for the state of {newest}: {stamps} is not within half a period of it"
            return Level.ERROR, f"{text}; {self._listed(behind, now)}; {since}"
        refused = [topic for topic in self._states if topic in self._health.refusals]
        text = f"waiting for a state after that of {newest}: {self._listed(refused or self._states, now)}; {since}"
        return Level.ERROR if refused else Level.WARN, text

    def _listed(self, names: Sequence[str], now: float) -> str:
        """Return when each topic last received a message, or a likely reason why none was received."""
        more = f"; and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        return "; ".join(f"{topic} ({self._last(topic, now)})" for topic in names[:MOST_LISTED]) + more

    def _last(self, topic: str, now: float) -> str:
        if topic in self._health.refusals:
            return f"refused: {self._health.refusals[topic]}"
        last = self.watch.last_received(topic)
        if now - last < LONG_WAIT:
            return "still received"
        received = f"last message {now - last:.1f} s ago" if last > -inf else "no message"
        return f"{received}; {self.watch.explain(topic)}"


def _seconds(stamp: int) -> str:
    """Return a stamp [ns] in seconds, to the microsecond."""
    return f"{stamp * 1e-9:.6f} s"
