"""Timing of the real-time mode, without ROS: times of measurement, and times at which commands are due."""

from __future__ import annotations

from math import inf

#: Largest drift between two clocks [s/s].
CLOCK_DRIFT = 1e-4
#: Least and largest time between two commands [periods], regardless of the arrival of the state.
EARLIEST, LATEST = 0.5, 1.5
#: States with a smaller interval than this fraction of the period are processed at the control period.
FASTER = 0.75
#: Largest relative change of the estimated latency by one command. With a mean, the states after a stall of 70 ms would
#: be predicted up to 7 ms too far, which makes robots that squeeze an object in a closed chain fall.
FOLLOWED = 0.02
#: Number of consecutive messages that must agree on the offset of a sender's clock, the same for a forward jump of the
#: clock by more than LONG_JUMP, and LONG_JUMP [s].
AGREEING, AGREEING_AFTER_JUMP, LONG_JUMP = 2, 10, 1.0
#: Lateness that indicates a stall, and the longest time for processing queued messages afterwards [periods]: the
#: publishers of the states may have stalled, too.
LATE, CATCH_UP = 0.1, 1.0


class ArrivalClock:
    """Time of measurement of messages by the steady clock, from stamps of another clock.

    Arrival minus stamp is the offset of both clocks plus the transport delay. Its least value over the past is the
    estimate of the offset; the excess over it is the delay of a message.
    """

    def __init__(self, *, stamps: bool = True, most_ahead: float = inf) -> None:
        """Begin without any message.

        Args:
            stamps: whether stamps are in real time; else the time of measurement is the time of arrival.
            most_ahead: by how much a stamp may be ahead of the one expected from earlier messages of the topic [s].
        """
        self._stamps, self._most_ahead = stamps, most_ahead
        self._known: dict[str, tuple[float, float]] = {}  # by topic: least difference, time of its last update
        self._doubtful: dict[str, tuple[float, int]] = {}  # by topic: difference, number of messages that agree on it

    def ahead(self, topic: str, stamp: int, arrival: float) -> float | None:
        """Return by how much a stamp [ns] is ahead of its topic's clock if it is to be rejected [s], else None.

        A topic's clock is known once two consecutive messages agree on it; until then the value is 0. One message with
        a wrong stamp would make all later ones count as late. A smaller offset is therefore accepted when two
        consecutive messages agree on it, or ten for a forward jump of more than a second.
        """
        if not self._stamps:
            return None
        difference = arrival - stamp * 1e-9
        known = self._known.get(topic)
        by = 0.0 if known is None else known[0] - difference
        if known is not None and by <= self._most_ahead:
            self._doubtful.pop(topic, None)
            return None
        before, count = self._doubtful.get(topic, (difference, 0))
        count = count + 1 if abs(difference - before) <= self._most_ahead else 1
        if count >= (AGREEING if by <= LONG_JUMP else AGREEING_AFTER_JUMP):
            self._doubtful.pop(topic, None)
            self._known.pop(topic, None)
            return None
        self._doubtful[topic] = difference, count
        return by

    def measured(self, topic: str, stamp: int, arrival: float) -> float:
        """Return the time of measurement [s] of a message from its stamp [ns] and its time of arrival [s]."""
        if not self._stamps:
            return arrival
        difference = arrival - stamp * 1e-9
        least, updated = self._known.get(topic, (inf, arrival))
        least = min(difference, least + CLOCK_DRIFT * (arrival - updated))
        self._known[topic] = (least, arrival)
        return arrival - (difference - least)


class RateController:
    """Computes when a command is due: on arrival of each complete state, or after a timeout without one.

    Triggering by arrival gives the least delay; a timer would drift against the robots' clock and, now and then,
    process one state twice or skip one. A timer is used only if states arrive faster than the control period.

    Attributes:
        dt: the control period [s].
        missed: number of periods without a command.
        latency: filtered time from the beginning of a computation until its command is sent [s].
        sent: time of the last command [s].
    """

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.missed = 0
        self.latency = 0.2 * dt
        self.sent = -inf
        self._last = self._due = -inf
        self._was_fresh = False
        self._received: float | None = None
        self._interval = dt

    def record_state(self, at: float) -> None:
        """Record the time of measurement of a state [s]; to be called for always the same topic."""
        if self._received is not None:
            self._interval += 0.05 * (min(at - self._received, 2.0 * self.dt) - self._interval)
        self._received = at

    def due(self, *, fresh: bool) -> float:
        """Return when the next command is due if no more messages arrive [s].

        Args:
            fresh: whether all topics have a new message since the last command.
        """
        if self._interval < FASTER * self.dt:
            return self._due
        if fresh:
            return self._last + EARLIEST * self.dt
        return self._last + (LATEST if self._was_fresh else 1.0) * self.dt

    def answered(self, began: float, ended: float, *, fresh: bool) -> None:
        """Record a command, computed from new states or not, with the times of its beginning and sending [s]."""
        if self._last > -inf:
            self.missed += max(0, round((began - self._last) / self.dt) - 1)
        self._last, self.sent, self._was_fresh = began, ended, fresh
        self._due = max(self._due + self.dt, began)  # a late command is not compensated for
        change, most = 0.1 * (ended - began - self.latency), FOLLOWED * self.latency
        self.latency += min(max(change, -most), most)


class CatchUpWindow:
    """Delays a command without new states after a stall until the queued messages are processed.

    Messages that arrived during a stall are queued and are processed one at a time: a command computed between two of
    them would use states of different instants, or count queued states as lost.
    """

    def __init__(self, dt: float, topics: int) -> None:
        """Begin without a window, for a state of `topics` topics and a period of `dt` [s]."""
        self._late, self._longest, self._rounds = LATE * dt, CATCH_UP * dt, 2 * topics + 2
        self._since: float | None = None
        self._received = 0

    def over(self, now: float, due: float) -> bool:
        """Return whether to compute at `now` the command that was due [s]; to be called once for each spin."""
        if self._since is None:
            if now - due < self._late:
                return True
            self._since, self._received = now, 0
        self._received += 1
        return self._received > self._rounds and now - self._since >= self._longest

    def left(self, now: float) -> float:
        """Return the time until the next call of `over` [s]: 0 while messages may be queued."""
        if self._since is None or self._received <= self._rounds:
            return 0.0
        return max(0.0, self._since + self._longest - now)

    def end(self) -> None:
        """End the window after a command."""
        self._since = None
