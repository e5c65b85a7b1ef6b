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
from contact_invariant.touch import touch_of
from multi_qp_scene.arrays import Array
from multi_qp_scene.errors import KeyedError
from multi_qp_scene.schema.behaviour import (
    BehaviourSpec,
    CharacterTerm,
    DirectionTerm,
    HandstandTerm,
    ObjectPositionTerm,
    PositionTerm,
    RestTerm,
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
class BodyState:
    """Symbolic state of a rigid body: a character or the object.

    Attributes:
        p: centre of mass, (3, 1).
        R: rotation.
        speed: velocity of the centre of mass, (3, 1).
        omega: angular velocity in the world, (3, 1).
        rate: time derivatives of its features, (6, 1).
    """

    p: Any
    R: Any
    speed: Any
    omega: Any
    rate: Any

    def seen(self, place: Any) -> Any:
        """Return a point of the world relative to the centre of mass, in the body's axes."""
        return self.R.T @ (place - self.p)

    def speed_at(self, place: Any) -> Any:
        """Return the velocity of the body at a point of the world."""
        return self.speed + ca.cross(self.omega, place - self.p)


@dataclass(frozen=True)
class SymbolicState:
    """Symbolic features at one instant.

    Attributes:
        bodies: the characters, then the object.
        places: position of each effector's patch.
        turns: rotation of each effector's patch.
        x: all features.
        rate: their time derivatives.
        prop: of the object.
    """

    bodies: list[BodyState]
    places: list[Any]
    turns: list[Any]
    x: Any
    rate: Any
    prop: BodyState | None = None


def state_at(character: Character, x: Any, rate: Any) -> SymbolicState:
    """Return bodies and patches of symbolic features and their rates."""
    bodies, places, turns = [], [], []
    for k in range(len(character.bodies)):
        at = character.body_features(k).start
        spin = angular_velocity(x[at + 3 : at + 6], rate[at + 3 : at + 6])
        R = exponential_map(x[at + 3 : at + 6])
        bodies.append(BodyState(x[at : at + 3], R, rate[at : at + 3], spin, rate[at : at + 6]))
    for i, effector in enumerate(character.effectors):
        nominal, body = effector.nominal, bodies[effector.body]
        if effector.is_limb:
            places.append(x[6 + 6 * i : 9 + 6 * i])
            turns.append(exponential_map(x[9 + 6 * i : 12 + 6 * i]) @ ca.DM(nominal.rotation))
        else:
            com = 0.0 if effector.of_prop else character.bodies[effector.body].com
            places.append(body.p + body.R @ ca.DM(nominal.translation - com))
            turns.append(body.R @ ca.DM(nominal.rotation))
    prop = None if character.prop is None else bodies[-1]
    return SymbolicState(bodies, places, turns, x, rate, prop)


class TaskTerms:
    """The task terms of a behaviour.

    Attributes:
        phases: index of the phase at whose end each term is evaluated.
        residuals: of each term, a function of (x, ẋ): values as lengths and their Jacobian.
        features: name and unit of each entry of each term, and a function of (x, ẋ, shift) with the values; none of
            terms with a weight below 1. The shift of each body, (3, bodies) [m], is that of the centre of mass in x
            from where the nominal posture has it in the trunk, from which the limbs are measured.
    """

    def __init__(self, behaviour: BehaviourSpec, character: Character, surroundings: Surroundings) -> None:
        self._character, self._surroundings = character, surroundings
        self.phases: list[int] = []
        self.residuals: list[Any] = []
        self.features: list[tuple[list[tuple[str, str]], Any]] = []
        x, rate = ca.SX.sym("x", character.features), ca.SX.sym("rate", character.features)
        self._shift, state = ca.SX.sym("shift", 3, len(character.bodies)), state_at(character, x, rate)
        for term in behaviour.terms:
            found = _MAKERS[type(term)](self, term, state)
            scaled = term.weight * ca.vertcat(*(feature.scaled for feature in found))
            scaled = ca.substitute(scaled, self._shift, ca.DM.zeros(self._shift.shape))
            J = ca.densify(ca.jacobian(scaled, ca.vertcat(x, rate)))
            self.phases.append((term.phase or behaviour.phases) - 1)
            self.residuals.append(ca.Function("term", [x, rate], [scaled, J]))
            judged = found if term.weight >= 1.0 else []
            names = [(f"{term.type}: {f.name}", f.unit) for f in judged for _ in range(f.values.numel())]
            values = ca.vertcat(*(feature.values for feature in judged))
            self.features.append((names, ca.Function("features", [x, rate, self._shift], [values])))

    def values(self, knots: Sequence[tuple[Array, ...]]) -> list[tuple[str, str, float]]:
        """Return name with phase, unit and value of each feature, for (x, ẋ, shift) at the end of each phase.

        Without a shift, the centre of mass is where the nominal posture has it in the trunk.
        """
        found = []
        for phase, (names, function) in zip(self.phases, self.features, strict=True):
            x, rate, *shift = knots[phase]
            values = np.array(function(x, rate, *(shift or [np.zeros(self._shift.shape)]))).ravel()
            end = f", end of phase {phase + 1}"
            found += [(name + end, unit, float(value)) for (name, unit), value in zip(names, values, strict=True)]
        return found

    def _stand(self, term: StandTerm, at: SymbolicState) -> list[Feature]:
        feet = [self._character.index(name) for name in term.feet]
        middle = sum(at.places[i] for i in feet) / len(feet)
        trunk = at.bodies[self._character.effectors[feet[0]].body]
        surroundings = self._surroundings if term.on is None else self._surroundings.only(term.on)
        found = [
            Feature("centre of mass over the feet", "m", (trunk.p - middle)[:2]),
            Feature("trunk upright", "rad", trunk.R[:, 2] - ca.DM([0, 0, 1])),
            Feature("velocity of the centre of mass", "m/s", trunk.rate[:3]),
            Feature("rotation of the trunk", "rad/s", trunk.rate[3:]),
        ]
        for i in feet:
            foot = self._character.effectors[i]
            base, length = self._hip(at, i)
            touch = touch_of(self._character, surroundings, at, i)
            found += [
                Feature(f"{foot.name} extended", "m", ca.norm_2(at.places[i] - base) - length),
                Feature(f"{foot.name} on a surface", "m", at.places[i] - touch.near),
                Feature(f"{foot.name} flat", "rad", at.turns[i][:, 2] + touch.normal),
            ]
            found += self._rest(at, i)
        return found

    def _rest(self, at: SymbolicState, i: int) -> list[Feature]:
        """Return the velocity of a limb's patch; nothing for a patch of the trunk."""
        effector, rate = self._character.effectors[i], at.rate[6 + 6 * i : 12 + 6 * i]
        if not effector.is_limb:
            return []
        return [
            Feature(f"velocity of {effector.name}", "m/s", rate[:3]),
            Feature(f"rotation of {effector.name}", "rad/s", rate[3:]),
        ]

    def _rests(self, term: RestTerm, at: SymbolicState) -> list[Feature]:
        patches = [self._character.index(name) for name in term.patches]
        trunk = at.bodies[self._character.effectors[patches[0]].body] if patches else self._trunk(term, at)
        found = [
            Feature("velocity of the centre of mass", "m/s", trunk.rate[:3]),
            Feature("rotation of the trunk", "rad/s", trunk.rate[3:]),
        ]
        for i in patches:
            near = touch_of(self._character, self._surroundings, at, i).near
            found.append(Feature(f"{self._character.effectors[i].name} on a surface", "m", at.places[i] - near))
            found += self._rest(at, i)
        return found

    def _handstand(self, term: HandstandTerm, at: SymbolicState) -> list[Feature]:
        hands = [self._character.index(name) for name in term.hands]
        middle = sum(at.places[i] for i in hands) / len(hands)
        trunk = at.bodies[self._character.effectors[hands[0]].body]
        found = [
            Feature("centre of mass over the hands", "m", (trunk.p - middle)[:2]),
            Feature("trunk upside down", "rad", trunk.R[:, 2] + ca.DM([0, 0, 1])),
            Feature("velocity of the centre of mass", "m/s", trunk.rate[:3]),
            Feature("rotation of the trunk", "rad/s", trunk.rate[3:]),
        ]
        for i in hands:
            hand = self._character.effectors[i]
            touch = touch_of(self._character, self._surroundings, at, i)
            found += [
                Feature(f"{hand.name} on a surface", "m", at.places[i] - touch.near),
                Feature(f"{hand.name} flat", "rad", at.turns[i][:, 2] + touch.normal),
                Feature(f"trunk above {hand.name}", "m", self._rise(at, i)),
            ]
            found += self._rest(at, i)
        for i in (self._character.index(name) for name in term.feet):
            foot = self._character.effectors[i]
            base, length = self._hip(at, i)
            found.append(Feature(f"{foot.name} above the trunk", "m", at.places[i] - base - ca.DM([0, 0, length])))
            found += self._rest(at, i)
        return found

    def _hip(self, at: SymbolicState, i: int) -> tuple[Any, float]:
        """Return the place of a limb's first joint, and the nominal distance of its patch from there [m]."""
        effector = self._character.effectors[i]
        com = self._character.bodies[effector.body].com
        base = effector.placements[0].translation if effector.is_limb else effector.nominal.translation
        trunk, shift = at.bodies[effector.body], self._shift[:, effector.body]
        return trunk.p - shift + trunk.R @ ca.DM(base - com), float(np.linalg.norm(effector.nominal.translation - base))

    def _rise(self, at: SymbolicState, i: int) -> Any:
        """Return the height of a limb's first joint above its last one, less their nominal distance [m]."""
        effector, (base, _) = self._character.effectors[i], self._hip(at, i)
        if not effector.is_limb:
            return base[2] - at.places[i][2]
        wrist = np.zeros(3) if effector.point else effector.end.inverse().translation
        length = np.linalg.norm(effector.nominal.act(wrist) - effector.placements[0].translation)
        return base[2] - (at.places[i] + at.turns[i] @ ca.DM(wrist))[2] - length

    def _trunk(self, term: CharacterTerm, at: SymbolicState) -> BodyState:
        """Return the trunk of a term's character."""
        names = [body.name for body in self._character.bodies]
        return at.bodies[0 if term.character is None else names.index(term.character)]

    def _position(self, term: PositionTerm, at: SymbolicState) -> list[Feature]:
        return [Feature("centre of mass", "m", self._trunk(term, at).p[: len(term.target)] - ca.DM(term.target))]

    def _direction(self, term: DirectionTerm, at: SymbolicState) -> list[Feature]:
        turned = ca.DM(pin.utils.rotate("z", -term.yaw)) @ self._trunk(term, at).R
        return [Feature("heading", "rad", ca.atan2(turned[1, 0], turned[0, 0]))]

    def _trunk_upright(self, term: UprightTerm, at: SymbolicState) -> list[Feature]:
        """The trunk's axis less the vertical pulls from any inclination, where x and y alone end upside down."""
        return [Feature("trunk upright", "rad", self._trunk(term, at).R[:, 2] - ca.DM([0, 0, 1]))]

    def _strike(self, term: StrikeTerm, at: SymbolicState) -> list[Feature]:
        i = self._character.index(term.effector)
        if self._character.effectors[i].is_limb:
            speed = at.rate[6 + 6 * i : 9 + 6 * i]
        else:
            speed = at.bodies[self._character.effectors[i].body].speed_at(at.places[i])
        return [
            Feature(f"{term.effector} at the target", "m", at.places[i] - ca.DM(term.target)),
            Feature(f"{term.effector} velocity", "m/s", speed - ca.DM(term.velocity)),
        ]

    def _object_position(self, term: ObjectPositionTerm, at: SymbolicState) -> list[Feature]:
        if at.prop is None:
            raise KeyedError(("behaviour",), "`object_position` without an `object`")
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
    RestTerm: TaskTerms._rests,
    PositionTerm: TaskTerms._position,
    DirectionTerm: TaskTerms._direction,
    UprightTerm: TaskTerms._trunk_upright,
    ObjectPositionTerm: TaskTerms._object_position,
    StrikeTerm: TaskTerms._strike,
}
