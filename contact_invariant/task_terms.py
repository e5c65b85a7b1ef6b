"""Task terms of (10): residuals of the features at the end of a phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from contact_invariant.character import Character
from contact_invariant.surroundings import Surroundings
from contact_invariant.symbols import angular_velocity, ca, exponential_map
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.schema.behaviour import (
    BehaviourSpec,
    DirectionTerm,
    HandstandTerm,
    ObjectPositionTerm,
    PositionTerm,
    StandTerm,
    StrikeTerm,
    TermBase,
    UprightTerm,
)

#: What an angle of 1 rad, a speed of 1 m/s and a rotation of 1 rad/s count, against a distance of 1 m.
ANGLE, SPEED, SPIN = 1.0, 0.3, 0.1


@dataclass(frozen=True)
class Feature:
    """One entry h_b − h*_b of (10).

    Attributes:
        name: what it measures, for messages.
        unit: `m`, `rad`, `m/s` or `rad/s`.
        values: symbolic column, in that unit.
    """

    name: str
    unit: str
    values: Any

    @property
    def scaled(self) -> Any:
        """The values as lengths [m], for the cost."""
        return self.values * {"m": 1.0, "rad": ANGLE, "m/s": SPEED, "rad/s": SPIN}[self.unit]


@dataclass(frozen=True)
class PropState:
    """Symbolic state of the object.

    Attributes:
        p: centre of mass, (3, 1).
        R: rotation.
        speed: velocity of the centre of mass, (3, 1).
        omega: angular velocity in the world, (3, 1).
    """

    p: Any
    R: Any
    speed: Any
    omega: Any

    def seen(self, place: Any) -> Any:
        """Return a point of the world relative to the centre of mass, in the object's axes."""
        return self.R.T @ (place - self.p)

    def speed_at(self, place: Any) -> Any:
        """Return the velocity of the object at a point of the world."""
        return self.speed + ca.cross(self.omega, place - self.p)


@dataclass(frozen=True)
class State:
    """Symbolic features at one instant.

    Attributes:
        p: centre of mass, (3, 1).
        R: rotation of the trunk.
        places: position of each effector's patch.
        turns: rotation of each effector's patch.
        x: all features.
        rate: their time derivatives.
        prop: of the object.
    """

    p: Any
    R: Any
    places: list[Any]
    turns: list[Any]
    x: Any
    rate: Any
    prop: PropState | None = None


def state_at(character: Character, x: Any, rate: Any) -> State:
    """Return trunk and patches of symbolic features and their rates."""
    p, R = x[:3], exponential_map(x[3:6])
    places, turns, prop = [], [], None
    if character.prop is not None:
        at = character.prop_features.start
        spin = angular_velocity(x[at + 3 : at + 6], rate[at + 3 : at + 6])
        prop = PropState(x[at : at + 3], exponential_map(x[at + 3 : at + 6]), rate[at : at + 3], spin)
    for i, effector in enumerate(character.effectors):
        nominal = effector.nominal
        if effector.is_limb:
            places.append(x[6 + 6 * i : 9 + 6 * i])
            turns.append(exponential_map(x[9 + 6 * i : 12 + 6 * i]) @ ca.DM(nominal.rotation))
        elif effector.of_prop and prop is not None:
            places.append(prop.p + prop.R @ ca.DM(nominal.translation))
            turns.append(prop.R @ ca.DM(nominal.rotation))
        else:
            places.append(p + R @ ca.DM(nominal.translation - character.com))
            turns.append(R @ ca.DM(nominal.rotation))
    return State(p, R, places, turns, x, rate, prop)


class TaskTerms:
    """The task terms of a behaviour.

    Attributes:
        phases: index of the phase at whose end each term is evaluated.
        residuals: of each term, a function of (x, ẋ): values as lengths and their Jacobian.
        features: name and unit of each entry of each term, and a function of (x, ẋ) with the values; none of terms with
            a weight below 1.
    """

    def __init__(self, behaviour: BehaviourSpec, character: Character, surroundings: Surroundings) -> None:
        self._character, self._surroundings = character, surroundings
        self.phases: list[int] = []
        self.residuals: list[Any] = []
        self.features: list[tuple[list[tuple[str, str]], Any]] = []
        x, rate = ca.SX.sym("x", character.features), ca.SX.sym("rate", character.features)
        state = state_at(character, x, rate)
        for term in behaviour.terms:
            found = _MAKERS[type(term)](self, term, state)
            scaled = term.weight * ca.vertcat(*(feature.scaled for feature in found))
            J = ca.densify(ca.jacobian(scaled, ca.vertcat(x, rate)))
            self.phases.append((term.phase or behaviour.phases) - 1)
            self.residuals.append(ca.Function("term", [x, rate], [scaled, J]))
            judged = found if term.weight >= 1.0 else []
            names = [(f"{term.type}: {f.name}", f.unit) for f in judged for _ in range(f.values.numel())]
            values = ca.vertcat(*(feature.values for feature in judged))
            self.features.append((names, ca.Function("features", [x, rate], [values])))

    def values(self, knots: Sequence[tuple[Array, Array]]) -> list[tuple[str, str, float]]:
        """Return name with phase, unit and value of each feature, for the features at the end of each phase."""
        found = []
        for phase, (names, function) in zip(self.phases, self.features, strict=True):
            values = np.array(function(*knots[phase])).ravel()
            end = f", end of phase {phase + 1}"
            found += [(name + end, unit, float(value)) for (name, unit), value in zip(names, values, strict=True)]
        return found

    def _stand(self, term: StandTerm, at: State) -> list[Feature]:
        feet = [self._character.index(name) for name in term.feet]
        middle = sum(at.places[i] for i in feet) / len(feet)
        found = [
            Feature("centre of mass over the feet", "m", (at.p - middle)[:2]),
            Feature("trunk upright", "rad", at.R[:, 2] - ca.DM([0, 0, 1])),
            Feature("velocity of the centre of mass", "m/s", at.rate[:3]),
            Feature("rotation of the trunk", "rad/s", at.rate[3:6]),
        ]
        for i in feet:
            foot = self._character.effectors[i]
            base = at.p + at.R @ ca.DM(_base(self._character, i))
            length = float(np.linalg.norm(foot.nominal.translation - self._character.com - _base(self._character, i)))
            near, normal = self._surroundings.nearest(at.places[i], foot.margin)
            found += [
                Feature(f"{foot.name} extended", "m", ca.norm_2(at.places[i] - base) - length),
                Feature(f"{foot.name} on a surface", "m", at.places[i] - near),
                Feature(f"{foot.name} flat", "rad", at.turns[i][:, 2] + normal),
            ]
            if foot.is_limb:
                found.append(Feature(f"velocity of {foot.name}", "m/s", at.rate[6 + 6 * i : 9 + 6 * i]))
                found.append(Feature(f"rotation of {foot.name}", "rad/s", at.rate[9 + 6 * i : 12 + 6 * i]))
        return found

    def _handstand(self, term: HandstandTerm, at: State) -> list[Feature]:
        hands = [self._character.index(name) for name in term.hands]
        middle = sum(at.places[i] for i in hands) / len(hands)
        found = [
            Feature("centre of mass over the hands", "m", (at.p - middle)[:2]),
            Feature("trunk upside down", "rad", at.R[:, 2] + ca.DM([0, 0, 1])),
            Feature("velocity of the centre of mass", "m/s", at.rate[:3]),
            Feature("rotation of the trunk", "rad/s", at.rate[3:6]),
        ]
        for i in hands:
            hand = self._character.effectors[i]
            near, normal = self._surroundings.nearest(at.places[i], hand.margin)
            found += [
                Feature(f"{hand.name} on a surface", "m", at.places[i] - near),
                Feature(f"{hand.name} flat", "rad", at.turns[i][:, 2] + normal),
            ]
        for i in (self._character.index(name) for name in term.feet):
            foot = self._character.effectors[i]
            base = at.p + at.R @ ca.DM(_base(self._character, i))
            length = float(np.linalg.norm(foot.nominal.translation - self._character.com - _base(self._character, i)))
            found.append(Feature(f"{foot.name} above the trunk", "m", at.places[i] - base - ca.DM([0, 0, length])))
        return found

    def _position(self, term: PositionTerm, at: State) -> list[Feature]:
        return [Feature("centre of mass", "m", at.p[: len(term.target)] - ca.DM(term.target))]

    def _direction(self, term: DirectionTerm, at: State) -> list[Feature]:
        turned = ca.DM(pin.utils.rotate("z", -term.yaw)) @ at.R
        return [Feature("heading", "rad", ca.atan2(turned[1, 0], turned[0, 0]))]

    def _trunk_upright(self, term: UprightTerm, at: State) -> list[Feature]:
        return [_upright(at)]

    def _strike(self, term: StrikeTerm, at: State) -> list[Feature]:
        i = self._character.index(term.effector)
        if self._character.effectors[i].is_limb:
            speed = at.rate[6 + 6 * i : 9 + 6 * i]
        else:
            speed = at.rate[:3] + ca.cross(angular_velocity(at.x[3:6], at.rate[3:6]), at.places[i] - at.p)
        return [
            Feature(f"{term.effector} at the target", "m", at.places[i] - ca.DM(term.target)),
            Feature(f"{term.effector} velocity", "m/s", speed - ca.DM(term.velocity)),
        ]

    def _object_position(self, term: ObjectPositionTerm, at: State) -> list[Feature]:
        if at.prop is None:
            raise MultiQpError("behaviour: `object_position` without an `object`")
        found = [Feature("object at the target", "m", at.prop.p - ca.DM(term.target))]
        if term.upright:
            found.append(Feature("object upright", "rad", at.prop.R[:, 2] - ca.DM([0, 0, 1])))
        for first in range(0, self._character.features, 6):
            found.append(Feature("velocity at rest", "m/s", at.rate[first : first + 3]))
            found.append(Feature("rotation at rest", "rad/s", at.rate[first + 3 : first + 6]))
        return found


_MAKERS: dict[type[TermBase], Callable[..., list[Feature]]] = {
    HandstandTerm: TaskTerms._handstand,
    StandTerm: TaskTerms._stand,
    PositionTerm: TaskTerms._position,
    DirectionTerm: TaskTerms._direction,
    UprightTerm: TaskTerms._trunk_upright,
    ObjectPositionTerm: TaskTerms._object_position,
    StrikeTerm: TaskTerms._strike,
}


def _upright(at: State) -> Feature:
    """Return the trunk's axis less the vertical: it pulls from any inclination, where x and y alone end upside down."""
    return Feature("trunk upright", "rad", at.R[:, 2] - ca.DM([0, 0, 1]))


def _base(character: Character, i: int) -> Array:
    """Return the first joint of a limb relative to the centre of mass in the root frame, (3,) [m]."""
    effector = character.effectors[i]
    base = effector.placements[0].translation if effector.is_limb else effector.nominal.translation
    return np.asarray(base - character.com)
