"""Symbolic phase of the elimination: internal and shared rows, columns and unknowns of each subsystem."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from multi_qp_controller.qp.qp_data import QPData
from multi_qp_scene.arrays import Indices
from multi_qp_scene.scene import columns_above

# columns of `EliminationPlan.nodes`: sizes, and first indices of the lists and storage of a subsystem
_COLUMNS = range(26)
(
    V_0,
    V_SIZE,
    MOTORS,
    MOTORS_0,
    INTERNAL,
    INTERNAL_0,
    CONSTRAINED,
    CONSTRAINED_0,
    FREE,
    FREE_0,
    ACTIVE,
    COLUMNS_0,
    PLACES_0,
) = _COLUMNS[:13]
(SIZE, LINKS, LINKS_0, CROSS, CROSS_0, INTERFACE_0, TASKS, TASKS_0, GROUNDED) = _COLUMNS[13:22]
(EFFORTS_0, FACTOR_0, WIDE_0, UNKNOWN_0) = _COLUMNS[22:26]

#: Tasks and rows that span more subsystems than this come last, outside the band.
_WIDE = 4


@dataclass
class _Node:
    """A subsystem and what is assigned to it; columns are relative to its first entry of v.

    Attributes:
        where: its entries of v.
        grounded: whether its own contacts can carry its unactuated joints.
        rows: rows of J that it eliminates; none unless it is grounded.
        moved: columns of these rows.
        motors: column of each of its motors, by index in τ.
        constrained: unactuated columns that any row of J moves.
        free: the other unactuated columns.
    """

    where: slice
    grounded: bool
    rows: list[int] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    motors: dict[int, int] = field(default_factory=dict)
    constrained: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    @property
    def reaches_all(self) -> bool:
        """Whether its equalities may have nonzero entries in all columns."""
        return bool(self.free) or (not self.grounded and bool(self.constrained))


class EliminationPlan:
    """Assignment of rows, columns and unknowns to subsystems.

    A subsystem is *grounded* if its own contacts can carry its unactuated joints; otherwise all its contacts are links,
    as are contacts between subsystems. The shared unknowns s are the wrenches w of links, the multipliers μ of their
    rows, and a multiplier for each row of a task that spans several subsystems.

    Attributes:
        nodes: one row per subsystem, (subsystems, 26).
        lists: indices that the rows refer to.
        link_rows: rows of J that are links, (l,).
        link_w: index in s of each force, (l,).
        link_mu: index in s of each multiplier, (l,).
        cross_rows: task rows that span several subsystems, (c,).
        cross_y: index in s of each, (c,).
        last: end of each row of the band, (s,).
        border: first entry of s outside the band.
        unknowns: number of entries of all x.
        sizes: sizes of the storage of E, L and U.
        places: subsystem, and row of E, of each entry of v and of each motor; the same, or -1 and index in s, of each
            row of J, (·, 2).
    """

    def __init__(self, qp_data: QPData, *, floating: frozenset[int] = frozenset()) -> None:
        """Analyse the present contacts and tasks; the subsystems `floating` do not count as grounded."""
        scene, contacts = qp_data.scene, qp_data.contacts
        subsystems = [s.v_slice for s in scene.subsystems.values() if s.v_slice.stop > s.v_slice.start]
        owner = np.full(scene.nv, -1, dtype=np.intp)
        for k, where in enumerate(subsystems):
            owner[where] = k
        rows = _rows_by_columns(qp_data)
        spans = [sorted({int(owner[c]) for c in columns}) for _, columns in rows]
        grounded = [k not in floating and _grounded(k, rows, spans, qp_data) for k in range(len(subsystems))]
        nodes = [_Node(where, carried) for where, carried in zip(subsystems, grounded, strict=True)]
        links: list[tuple[range, list[int]]] = []
        reached = np.zeros(scene.nv, dtype=bool)
        for (block, columns), span in zip(rows, spans, strict=True):
            reached[columns] = True
            if len(span) == 1 and grounded[span[0]]:
                nodes[span[0]].rows.extend(block)
                nodes[span[0]].moved.update(int(c) - subsystems[span[0]].start for c in columns)
            else:
                links.append((block, span))
        for motor, v in enumerate(scene.actuated_v.tolist()):
            nodes[owner[v]].motors[motor] = v - subsystems[owner[v]].start
        for v in qp_data.unactuated.tolist():
            node = nodes[owner[v]]
            (node.constrained if reached[v] else node.free).append(v - node.where.start)
        task_spans = _task_spans(qp_data, owner)
        crossing = [(r, span) for r, span in enumerate(task_spans) if len(span) > 1]
        self._order(links, crossing, len(contacts.rhs), len(task_spans))
        self.nodes = np.zeros((len(subsystems), len(_COLUMNS)), dtype=np.intp)
        self._lists: list[int] = []
        self.torque_places = np.zeros((scene.na, 2), dtype=np.intp)
        self.velocity_places = np.zeros((scene.nv, 2), dtype=np.intp)
        self.reaction_places = np.zeros((len(contacts.rhs), 2), dtype=np.intp)
        self.motor_order: Indices = np.array([m for node in nodes for m in node.motors], dtype=np.intp)
        storage = np.zeros(4, dtype=np.intp)
        for k, node in enumerate(nodes):
            self.nodes[k, [EFFORTS_0, FACTOR_0, WIDE_0, UNKNOWN_0]] = storage
            node_links = [r for block, span in links if k in span for r in block]
            node_crossing = [r for r, span in crossing if k in span]
            tasks = [r for r, span in enumerate(task_spans) if span == [k]]
            storage += self._add(k, node, node_links, node_crossing, tasks)
        self.reaction_places[self.link_rows, 0] = -1
        self.reaction_places[self.link_rows, 1] = self.link_w
        self.lists: Indices = np.array(self._lists, dtype=np.intp)
        self.sizes = (int(storage[0]), int(storage[1]), int(storage[2]))
        self.unknowns = int(storage[3])

    def _add(
        self, k: int, node: _Node, links: list[int], crossing: list[int], tasks: list[int]
    ) -> tuple[int, int, int, int]:
        """Write the lists and places of a subsystem; return the sizes of its efforts, factor, interface and unknowns.

        Args:
            k: index of the subsystem.
            node: the subsystem.
            links: its rows of J that are links.
            crossing: its task rows that span several subsystems.
            tasks: its other task rows.

        Raises:
            ValueError: when it has more equalities than unknowns.
        """
        line, nv = self.nodes[k], node.where.stop - node.where.start
        reach = sorted(range(nv) if node.reaches_all else node.moved)
        order = reach + sorted(set(range(nv)) - set(reach))
        line[[V_0, V_SIZE, GROUNDED, ACTIVE]] = node.where.start, nv, node.grounded, len(reach)
        self._put(line, MOTORS, MOTORS_0, [*node.motors.values()])
        self._put(line, INTERNAL, INTERNAL_0, node.rows)
        self._put(line, CONSTRAINED, CONSTRAINED_0, node.constrained)
        self._put(line, FREE, FREE_0, node.free)
        self._put(line, None, COLUMNS_0, order)
        self._put(line, None, PLACES_0, [int(i) for i in np.argsort(order)])
        self._put(line, LINKS, LINKS_0, links)
        self._put(line, CROSS, CROSS_0, crossing)
        interface = [*self._w[links], *self._mu[links], *self._y[crossing]]
        self._put(line, None, INTERFACE_0, [int(i) for i in interface])
        self._put(line, TASKS, TASKS_0, tasks)
        eliminated = (len(node.rows) if node.grounded else len(node.constrained)) + len(node.free)
        line[SIZE] = n = nv - eliminated + (len(node.rows) - len(node.constrained) if node.grounded else 0)
        if min(n, len(reach) - eliminated) < 0 or (node.grounded and len(node.rows) < len(node.constrained)):
            raise ValueError("more equalities than unknowns")
        self.velocity_places[node.where] = [(k, i) for i in range(nv)]
        for i, motor in enumerate(node.motors):
            self.torque_places[motor] = k, nv + i
        for i, row in enumerate(node.rows):
            self.reaction_places[row] = k, nv + len(node.motors) + i
        efforts = nv + len(node.motors) + len(node.rows)
        return efforts * (n + len(links)), n * n, n * len(interface), n

    def _put(self, line: Indices, size: int | None, start: int, entries: list[int]) -> None:
        line[start] = len(self._lists)
        if size is not None:
            line[size] = len(entries)
        self._lists.extend(entries)

    def _order(
        self, links: list[tuple[range, list[int]]], crossing: list[tuple[int, list[int]]], rows: int, tasks: int
    ) -> None:
        """Order the shared unknowns s for a small bandwidth; units that span many subsystems come last."""
        units = [(span, 2 * len(block)) for block, span in links] + [(span, 1) for _, span in crossing]
        narrow = [k for k, (span, _) in enumerate(units) if len(span) <= _WIDE]
        wide = [k for k, (span, _) in enumerate(units) if len(span) > _WIDE]
        order = [narrow[k] for k in _near_each_other([units[k][0] for k in narrow])] + wide
        start, starts = 0, np.zeros(len(units), dtype=np.intp)
        for k in order:
            starts[k] = start
            start += units[k][1]
        self.border = sum(units[k][1] for k in narrow)
        self._w = np.full(rows, -1, dtype=np.intp)
        self._mu = np.full(rows, -1, dtype=np.intp)
        self._y = np.full(tasks, -1, dtype=np.intp)
        for (block, _), first in zip(links, starts, strict=False):
            self._w[list(block)] = first + np.arange(len(block))
            self._mu[list(block)] = first + len(block) + np.arange(len(block))
        for (row, _), first in zip(crossing, starts[len(links) :], strict=True):
            self._y[row] = first
        self.link_rows: Indices = np.flatnonzero(self._w >= 0)
        self.link_w, self.link_mu = self._w[self.link_rows], self._mu[self.link_rows]
        self.cross_rows: Indices = np.flatnonzero(self._y >= 0)
        self.cross_y = self._y[self.cross_rows]
        self.last = self._band(units, starts, start)

    def _band(self, units: list[tuple[list[int], int]], starts: Indices, size: int) -> Indices:
        """Return the end of each row of the factor: the last unit that shares a subsystem, with fill-in."""
        ends: dict[int, int] = {}
        for (span, length), first in zip(units, starts, strict=True):
            if first < self.border:
                for node in span:
                    ends[node] = max(ends.get(node, 0), int(first) + length)
        last = np.full(size, size, dtype=np.intp)
        for (span, length), first in zip(units, starts, strict=True):
            if first < self.border:
                last[first : first + length] = max(ends[node] for node in span)
        last[: self.border] = np.maximum.accumulate(last[: self.border])
        return last


def structure(qp_data: QPData) -> tuple[object, ...]:
    """Return the key of a plan: joints of the present contacts, and columns of the tasks."""
    contacts = tuple((c.first.joint_id, c.second.joint_id, c.rows) for c in qp_data.contacts.contacts)
    return contacts, qp_data.tasks.moved(qp_data.scene)


def _rows_by_columns(qp_data: QPData) -> list[tuple[range, Indices]]:
    """Return the rows of J of each contact and of each coupling, with the entries of v that they move."""
    model, contacts = qp_data.scene.model, qp_data.contacts
    found = []
    for contact, rows in zip(contacts.contacts, contacts.row_slices, strict=True):
        columns = columns_above(model, contact.first.joint_id, contact.second.joint_id)
        found.append((range(rows.start, rows.stop), columns))
    first = len(contacts.rhs) - len(contacts.couplings)
    found += [(range(first + k, first + k + 1), np.flatnonzero(row)) for k, row in enumerate(contacts.couplings.J)]
    return found


def _grounded(node: int, rows: list[tuple[range, Indices]], spans: list[list[int]], qp_data: QPData) -> bool:
    """Return whether the rows of a subsystem alone can carry its unactuated joints."""
    own = [(block, columns) for (block, columns), span in zip(rows, spans, strict=True) if span == [node]]
    reached = np.zeros(qp_data.scene.nv, dtype=bool)
    internal = np.zeros(qp_data.scene.nv, dtype=bool)
    for (_, columns), span in zip(rows, spans, strict=True):
        if node in span:
            reached[columns] = True
    for _, columns in own:
        internal[columns] = True
    where = [s.v_slice for s in qp_data.scene.subsystems.values() if s.v_slice.stop > s.v_slice.start][node]
    unactuated = [v for v in qp_data.unactuated if where.start <= v < where.stop and reached[v]]
    return sum(len(block) for block, _ in own) >= len(unactuated) and all(internal[v] for v in unactuated)


def _task_spans(qp_data: QPData, owner: Indices) -> list[list[int]]:
    """Return the subsystems that each task row depends on."""
    all_subsystems = sorted({int(k) for k in owner})
    spans: list[list[int]] = []
    tasks = qp_data.tasks
    for task, columns in zip(tasks.tasks, tasks.columns(qp_data.scene), strict=True):
        span = all_subsystems if columns is None else sorted({int(k) for k in owner[columns]})
        spans += [span or all_subsystems[:1]] * task.dim
    return spans


def _near_each_other(spans: list[list[int]]) -> list[int]:
    """Return an order in which units that share a subsystem are near each other."""
    if len(spans) < 3:
        return list(range(len(spans)))
    pairs = [(a, b) for a, one in enumerate(spans) for b, other in enumerate(spans) if set(one) & set(other)]
    rows, columns = np.array(pairs).T
    graph = coo_array((np.ones(len(pairs)), (rows, columns)), shape=(len(spans), len(spans))).tocsr()
    return [int(k) for k in reverse_cuthill_mckee(graph, symmetric_mode=True)]
