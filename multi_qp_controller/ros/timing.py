"""By the wall clock: when a state was measured, and when to answer. Needs no ROS."""

from __future__ import annotations

from math import inf

#: How fast two clocks may drift apart [s/s].
CLOCK_DRIFT = 1e-4
#: Periods after the last answer: the next one comes no sooner than this, and no later, however late its state.
EARLIEST, LATEST = 0.5, 1.5
#: States that come more often than with this fraction of the period are answered at our own pace.
FASTER = 0.75
#: What one answer changes of what is usual, at most [of it]. A mean is no good: after a stall of 70 ms the next states
#: would be predicted up to 7 ms too far, and robots that squeeze something in a closed chain fall of it.
FOLLOWED = 0.02
#: Who is later than this had no processor, and then listens for so long at most [periods]: what came meanwhile is heard
#: first, and who tells of the state may have had no processor either.
LATE, HEARING = 0.1, 1.0


class ArrivalClock:
    """Tells by our steady clock when a message was measured, from stamps of a clock that may differ from ours.

    Arrival minus stamp is the difference of both clocks plus the time on the way. Its least value over the past is
    taken for the difference; what a message took longer than the fastest one is the delay that it came with.
    """

    def __init__(self, *, stamps: bool = True) -> None:
        """Know of no message yet.

        Args:
            stamps: whether stamps tell real time; else a message counts as measured on arrival.
        """
        self._stamps = stamps
        self._known: dict[str, tuple[float, float]] = {}  # by topic: least difference, and when it was looked at

    def measured(self, topic: str, stamp: int, arrival: float) -> float:
        """Return the time of measurement [s] of a message: its stamp [ns], and its time of arrival [s]."""
        if not self._stamps:
            return arrival
        difference = arrival - stamp * 1e-9
        least, looked = self._known.get(topic, (inf, arrival))
        least = min(difference, least + CLOCK_DRIFT * (arrival - looked))
        self._known[topic] = (least, arrival)
        return arrival - (difference - least)


class Pacer:
    """Says when to answer: each new round of states as it comes, and not much later without one.

    An answer to a state that has just come is as fresh as can be; a timer of its own would drift against the robots'
    and answer, now and then, one state twice or none. Only where states come faster than the period is there a timer.

    Attributes:
        dt: the period [s].
        missed: periods without an answer.
        latency: from the beginning of an answer until it is sent, as usual of late [s].
        sent: when the last answer was [s].
    """

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.missed = 0
        self.latency = 0.2 * dt
        self.sent = -inf
        self._last = self._due = -inf
        self._was_fresh = False
        self._heard: float | None = None
        self._interval = dt

    def heard(self, at: float) -> None:
        """Note that a state was measured [s]; to be told of one and the same topic."""
        if self._heard is not None:
            self._interval += 0.05 * (min(at - self._heard, 2.0 * self.dt) - self._interval)
        self._heard = at

    def due(self, *, fresh: bool) -> float:
        """Return when to answer if nothing more comes [s].

        Args:
            fresh: whether all states have come anew since the last answer.
        """
        if self._interval < FASTER * self.dt:
            return self._due
        if fresh:
            return self._last + EARLIEST * self.dt
        return self._last + (LATEST if self._was_fresh else 1.0) * self.dt

    def answered(self, began: float, ended: float, *, fresh: bool) -> None:
        """Note an answer to fresh states or others, begun and sent at these times [s]."""
        if self._last > -inf:
            self.missed += max(0, round((began - self._last) / self.dt) - 1)
        self._last, self.sent, self._was_fresh = began, ended, fresh
        self._due = max(self._due + self.dt, began)  # a late answer is not made up for
        change, most = 0.1 * (ended - began - self.latency), FOLLOWED * self.latency
        self.latency += min(max(change, -most), most)


class Hearing:
    """Holds an answer to old states back until what waits for us has been heard, if we had no processor meanwhile.

    After a stall the messages that came during it are there, but one is taken at a time: an answer between two of them
    would be to states of different instants, or take for lost what only waits.
    """

    def __init__(self, dt: float, topics: int) -> None:
        """Wait for nothing; `topics`: how many tell of a state, with a period of `dt` [s]."""
        self._late, self._longest, self._rounds = LATE * dt, HEARING * dt, 2 * topics + 2
        self._since: float | None = None
        self._heard = 0

    def over(self, now: float, due: float) -> bool:
        """Return whether to answer at `now` what was due [s]; to be asked once after each message, or without any."""
        if self._since is None:
            if now - due < self._late:
                return True
            self._since, self._heard = now, 0
        self._heard += 1
        return self._heard > self._rounds and now - self._since >= self._longest

    def left(self, now: float) -> float:
        """Return for how long to listen before asking again [s]: not at all while messages may be waiting."""
        if self._since is None or self._heard <= self._rounds:
            return 0.0
        return max(0.0, self._since + self._longest - now)

    def end(self) -> None:
        """Note an answer."""
        self._since = None
