"""Costs of the refinement with the full model, as models of crocoddyl."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from contact_invariant.carried import Carried
from contact_invariant.character import GRAVITY, Character, Effector, behaviour_of
from contact_invariant.clearance_residual import ClearanceResidual
from contact_invariant.contact_schedule import Span, feet_of
from contact_invariant.cost_sum import CostSum
from contact_invariant.limit_residual import LimitSpeedResidual
from contact_invariant.line_contacts import LineContacts
from contact_invariant.moving_surfaces import Load, MovingPiece
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.refinement_pairs import OUTSIDE_MARGIN, NodeGeometry, RefinementPairs
from contact_invariant.swing_paths import SwingPaths
from multi_qp_scene.arrays import Array
from multi_qp_scene.scenario import Scenario
from multi_qp_scene.scene import Scene

#: Shares of torque limits, joint speeds, friction coefficients (at most that of the QP) and extents of patches that are
#: used.
TORQUE, SPEED, FRICTION, EXTENT = 0.8, 0.8, 0.8, 0.8
#: Distances from joint limits that are kept, and when barriers are firm [rad].
JOINT_MARGIN, FIRM_JOINT_MARGIN = 0.03, 0.06
#: Distance from surroundings that is kept when barriers are firm, where the simplified motion has it: bound of the
#: swing clearance, and 1.5 cm [m].
SWING_MARGIN = 0.035
#: Duration before and after a contact over which a link, but for feet, that touches with a point does not enter the
#: surface when it tilts, but may touch it, and another patch keeps less than the first [s].
LEAVING = 0.1
#: Duration per body weight over which the normal force of a contact may rise and has to fall, and when barriers are
#: firm [s]. With a force that ends within a node, accelerations jump, of which splines through the nodes know nothing.
RAMP, FIRM_RAMP = 0.1, 0.2
#: Duration after the start over which the distance that is kept from surroundings grows to the first, where a link of
#: the start pose is closer [s]. With all of it at once, the link is thrown off them.
STARTING = 0.3

#: Duration before a hand touches an object in which it may be close to it [s].
REACH = 0.16

#: Factor of the accelerations within this duration of a change of contact [s], if torques there are to decrease: they
#: jump, and splines through the nodes, which is what is carried out, overshoot there.
SMOOTH, CHANGE = 50.0, 0.1

#: Weights, of squares per second: torques relative to their limits, joint accelerations [rad/s²] ...
EFFORT, ACCELERATION = 20.0, 2e-3
#: ... distance from the simplified motion: root [m], [rad], joints [rad], velocities, centre of mass [m] ...
ROOT, POSTURE, VELOCITY, COM = 5.0, 2.0, 0.03, 10.0
#: ... swinging patches [m], [rad], and the latter when barriers are firm; ends of swings: pose and velocity.
SWING, SWING_TURN, FIRM_SWING_TURN, LANDING, LANDING_SPEED = 5000.0, 20.0, 2000.0, 2e6, 1e5
#: ... swings that are lifted [m], which are short.
LIFTED_SWING = 5e5
#: Factor of a swinging foot that is a point, whose swings may be short, and of the height of any point that swings,
#: which no rotation keeps from cutting its path short.
SWING_FOOT, SWING_HEIGHT = 16.0, 10.0
#: ... points that grip [m]: the body swings about them, and errors of the integration, which grow with the square of a
#: limb's speed, move them by 1 to 2 cm, which the stabilisation of contacts does not hold;
GRIP = 1e6
#: ... hands that touch an object [m], [rad], and on their way to it [m];
CARRY, CARRY_TURN, REACHING = 1e6, 1e5, 500.0
#: ... surfaces that another character touches [m], [rad];
LOADED, LOADED_TURN = 1e5, 1e4
#: ... barriers: torques relative to limits, joint angles, joint speeds, forces in body weights, distances [m].
OVER_TORQUE, OVER_ANGLE, OVER_SPEED, OVER_CONE, OVERLAP = 300.0, 1e4, 10.0, 1e4, 2e4
#: ... approach beyond what the velocity dampers of the QP allow: of own links [m/s], of joint limits [rad/s].
APPROACH, LIMIT_SPEED = 30.0, 30.0
#: Weights at the end, not per second: centre of mass, patches and trunk, velocities.
END_COM, END_POSE, END_VELOCITY = 1e4, 2e3, 50.0
#: Duration before the end over which the motion comes to rest [s].
SETTLING = 0.2


@dataclass(frozen=True)
class Guess:
    """What a refinement starts from.

    Attributes:
        times: of the nodes, (M + 1,) [s].
        q: postures there, (M + 1, nq).
        v: velocities there, (M + 1, nv).
        spans: contacts.
        planned: whether each effector touches a surface from node to node in the simplified motion, (M, N).
        strict: nodes at which task terms hold.
        turned: those of which are of the rotation of the trunk.
        carried: the object at the nodes.
        refined: postures of the refinement that is continued, (M + 1, nq); None if there is none.
        loads: what another character does to surfaces.
        others: pieces of another character.
        torque_shares: factor of each motor's share of its torque limit, (nv - 6,).
    """

    times: Array
    q: Array
    v: Array
    spans: list[Span]
    planned: NDArray[np.bool_]
    strict: set[int]
    turned: set[int]
    carried: Carried | None = None
    refined: Array | None = None
    loads: tuple[Load, ...] = ()
    others: tuple[MovingPiece, ...] = ()
    torque_shares: Array | float = 1.0


def torque_limits_of(scene: Scene) -> Array:
    """Return the torque limits of the joints of a character, (nv - 6,) [N m]."""
    limits = np.full(scene.nv - 6, np.inf)
    limits[scene.actuated_v - 6] = scene.torque_limits
    limits[~np.isfinite(limits)] = 200.0
    return limits


class CostFactory:
    """Makes the costs of each node."""

    def __init__(
        self, scenario: Scenario, character: Character, nu: int, guess: Guess, firmness: float, lines: LineContacts
    ) -> None:
        self._scene, self._character, self._nu, self._guess = scenario.scene, character, nu, guess
        self._lines = lines
        self._firmness, self._dampers = firmness, scenario.spec.joint_limits
        self._weight = character.mass * GRAVITY
        behaviour = scenario.spec.behaviour
        share = min(FRICTION, scenario.spec.closed_loop.friction)
        self._friction = share * (0.7 if behaviour is None else behaviour.friction)
        self._extent = EXTENT if behaviour is None else min(EXTENT, behaviour.extent)
        self._data, self._com_data = self._scene.model.createData(), self._scene.model.createData()
        self._limit = torque_limits_of(self._scene)
        self._pairs, self._feet = RefinementPairs(scenario, character, guess.others), feet_of(behaviour_of(scenario))
        self._paths = SwingPaths(self._scene, character, (guess.times, guess.q), guess.spans, guess.planned)
        if firmness > 1.0 or guess.refined is not None:
            self._paths.lift({limb.name for limb in character.limbs if not limb.on_prop})

    def at(self, k: int, state: crocoddyl.StateMultibody, active: list[Span]) -> crocoddyl.CostModelSum:
        """Return the costs of a node with its contacts; at the last node they are not integrated over time."""
        self._state = state
        costs = CostSum(self._state, self._nu)
        last = k == len(self._guess.times) - 1
        step = 1.0 if last else float(self._guess.times[k + 1] - self._guess.times[k])
        pin.framesForwardKinematics(self._scene.model, self._data, self._guess.q[k])
        if not last:
            share = TORQUE * self._guess.torque_shares
            costs.torques(self._limit, EFFORT, share, self._firmness**2 * OVER_TORQUE / self._limit**2)
            acceleration = crocoddyl.ResidualModelJointAcceleration(self._state, self._nu)
            costs.add("acceleration", acceleration, self._smoothness(k) * ACCELERATION)
            for span in active:
                self._cone(costs, k, span, active)
        self._tracking(costs, k, rest=last)
        angles, speeds = self._firmness * OVER_ANGLE, self._firmness * OVER_SPEED
        margin = JOINT_MARGIN if self._firmness == 1.0 else FIRM_JOINT_MARGIN
        costs.joint_limits(self._scene, margin, SPEED, angles, speeds)
        if self._firmness > 1.0:
            fast = LimitSpeedResidual(self._state, self._nu, self._scene, self._dampers)
            costs.add("speeds at joint limits", fast, self._firmness * LIMIT_SPEED)
        self._limbs(costs, k, active)
        for load in self._guess.loads:  # with their paths, forces of the other character would change
            X = load.poses[k] * self._scene.model.frames[load.frame].placement
            residual = crocoddyl.ResidualModelFramePlacement(self._state, load.frame, X, self._nu)
            costs.squares(f"loaded {load.frame}", residual, np.repeat([LOADED, LOADED_TURN], 3))
        if k in self._guess.strict:
            self._task(costs, k, 1.0 / step, rest=last)
        swings = self._paths.at(k, active)
        postures = {j: self._paths.posture(j) for j in {k, *swings.values()}}
        high = SWING_MARGIN if self._firmness > 1.0 else OUTSIDE_MARGIN
        refined = None if self._guess.refined is None else self._guess.refined[k]
        lifts = {i: height for i in swings if (height := self._paths.lifted(i, k)) is not None}
        placed = self._pairs.placed(k)
        begun = min(1.0, float(self._guess.times[k]) / STARTING) ** 2
        pairs = self._pairs.near(
            NodeGeometry(postures, swings, active, self._soon(k), self._solid(k), high, refined, lifts, placed, begun)
        )
        if pairs:
            ends, margins, weights = (list(column) for column in zip(*pairs, strict=True))
            dampers = [self._pairs.dampers.get(pair) if self._firmness > 1.0 else None for pair in ends]
            approaches = [APPROACH for damper in dampers if damper is not None]
            residual = ClearanceResidual(
                self._state, self._nu, self._scene, ends, margins, self._pairs.shared, dampers, placed
            )
            factors = np.concatenate([OVERLAP * np.array(weights), approaches])
            costs.squares("clearance", residual, self._firmness * factors)
        return costs.sum

    def _smoothness(self, k: int) -> float:
        """Return the factor of the accelerations at a node, if torques there are to decrease."""
        if np.all(self._guess.torque_shares == 1.0):
            return 1.0
        changes = [self._guess.times[node] for span in self._guess.spans for node in (span.begin, span.end) if node]
        return SMOOTH if np.abs(np.array(changes) - self._guess.times[k]).min(initial=np.inf) < CHANGE else 1.0

    def _soon(self, k: int) -> dict[int, float]:
        """Return effectors whose contact begins or has ended within `LEAVING` of a node: how far off, 0..1, of it."""
        times, found = self._guess.times, dict[int, float]()
        for span in self._guess.spans:
            off = float(max(times[span.begin] - times[k], times[k] - times[span.end], 0.0)) / LEAVING
            if off < 1.0:
                found[span.effector] = min(off, found.get(span.effector, 1.0))
        return found

    def _solid(self, k: int) -> str | None:
        """Return the name of the object while no hand carries it, and hands do not reach for it."""
        carried = self._guess.carried
        if carried is None or self._guess.times[k] > self._guess.times[carried.begin] - REACH:
            return None
        return carried.prop.name

    def _cone(self, costs: CostSum, k: int, span: Span, active: list[Span]) -> None:
        effector = self._character.effectors[span.effector]
        away = 1.0 if span.pose.rotation[:, 2] @ span.normal > 0 else -1.0
        R = np.diag([1.0, away, away])  # z of the cone along the normal of the surface
        times, end = self._guess.times, len(self._guess.times) - 1
        link = [s for s in self._guess.spans if self._joint(s) == self._joint(span)]  # one takes the load of another
        age = times[k] - times[span.begin] + 0.5 * (times[1] - times[0])
        age = np.inf if span.begin in {0, *(s.end for s in link)} else age
        left = np.inf if span.end in {end, *(s.begin for s in link)} else times[span.end] - times[k]
        slope = 1.0 / (RAMP if self._firmness == 1.0 else FIRM_RAMP)
        largest = self._weight * min(3.0, slope * age, slope * left)
        frame, weight = self._lines.frame(span, active), self._firmness * OVER_CONE / self._weight**2
        if effector.point:
            R = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), span.normal_at(k)).matrix()
        pull = np.append(min(self._weight * effector.grip, largest) * R[:, 2], np.zeros(3))
        if not effector.point:
            cone = crocoddyl.WrenchCone(R, self._friction, 2.0 * self._extent * effector.half, 4, True, 0.0, largest)
            residual = crocoddyl.ResidualModelContactWrenchCone(self._state, frame, cone, self._nu)
            costs.cone(f"wrench of {effector.name}", residual, cone, pull, weight)
        R = R @ pin.utils.rotate("z", np.pi / 4)  # the edges of the QP's pyramid are along the axes of the surface
        cone = crocoddyl.FrictionCone(R, self._friction, 4, True, 0.0, largest)
        residual = crocoddyl.ResidualModelContactFrictionCone(self._state, frame, cone, self._nu)
        costs.cone(f"force of {effector.name}", residual, cone, pull, weight, normal=effector.point)

    def _joint(self, span: Span) -> int:
        return int(self._scene.surfaces[self._character.effectors[span.effector].surface].joint_id)

    def _tracking(self, costs: CostSum, k: int, *, rest: bool) -> None:
        guess, nv = self._guess, self._scene.nv
        v = np.zeros(nv) if rest else guess.v[k]
        residual = crocoddyl.ResidualModelState(self._state, np.concatenate([guess.q[k], v]), self._nu)
        root, speed = (END_POSE, END_VELOCITY) if rest else (ROOT, VELOCITY)
        if guess.times[k] > guess.times[-1] - SETTLING:
            v, speed = np.zeros(nv), END_VELOCITY
        weights = np.concatenate([[0.0] * 3, [root] * 3, np.full(nv - 6, POSTURE), np.full(nv, speed)])
        costs.squares("posture", residual, weights)
        com = crocoddyl.ResidualModelCoMPosition(self._state, self._com(k), self._nu)
        costs.add("centre of mass", com, COM)

    def _com(self, k: int) -> Array:
        """Return the centre of mass of the simplified motion at a node, with what the hands carry."""
        return np.asarray(pin.centerOfMass(self._state.pinocchio, self._com_data, self._guess.q[k])).copy()

    def _limbs(self, costs: CostSum, k: int, active: list[Span]) -> None:
        """Track the patches of swinging limbs; where a swing ends, the patch is at its place and at rest."""
        swings, carried = self._paths.at(k, active), self._guess.carried
        swinging = (self._firmness * SWING, FIRM_SWING_TURN if self._firmness > 1.0 else SWING_TURN)
        for i, limb in enumerate(self._character.limbs):
            frame = self._scene.surfaces[limb.surface].frame_id
            if carried is not None and (carried.touches(i, k) or carried.later(i, k)):
                weights = (CARRY, CARRY_TURN) if carried.touches(i, k) else (REACHING, SWING_TURN)
                self._pose(costs, limb, limb.name, self._data.oMf[frame].copy(), weights)
                continue
            if carried is not None and carried.released(i, k):  # its path leads around the object
                self._pose(costs, limb, limb.name, self._data.oMf[frame].copy(), swinging)
                continue
            landing = next((s for s in active if s.effector == i and s.begin == k and k > 0), None)
            if landing is not None:
                self._pose(costs, limb, limb.name, landing.pose_at(k), (self._firmness * LANDING,) * 2)
                self._velocity(costs, limb, f"{limb.name} at rest", landing.twist_at(k), LANDING_SPEED)
            elif limb.point and limb.grip > 0.0 and (held := [s for s in active if s.effector == i]):
                self._pose(costs, limb, limb.name, held[0].pose_at(k), (GRIP, GRIP))
            elif i in swings:
                lifted = self._paths.lifted(i, k) is not None  # an error of 3 mm would end in haste
                weights = (LIFTED_SWING, FIRM_SWING_TURN) if lifted else swinging
                self._pose(costs, limb, limb.name, self._paths.pose(i, k, swings[i]), weights, swings=not lifted)

    def _task(self, costs: CostSum, k: int, scale: float, *, rest: bool) -> None:
        """Hold centre of mass and patches where the simplified motion has them when a task term holds."""
        model = self._scene.model
        com = crocoddyl.ResidualModelCoMPosition(self._state, self._com(k), self._nu)
        costs.add("task", com, END_COM * scale)
        if (self._firmness > 1.0 or k in self._guess.turned) and not rest:
            at = np.concatenate([self._guess.q[k], np.zeros(self._scene.nv)])
            turned = np.concatenate([np.zeros(3), np.full(3, END_POSE * scale), np.zeros(2 * self._scene.nv - 6)])
            residual = crocoddyl.ResidualModelState(self._state, at, self._nu)
            costs.squares("task trunk", residual, turned)
        for limb in self._character.limbs:
            frame = self._scene.surfaces[limb.surface].frame_id
            X = self._data.oMf[frame].copy()
            self._pose(costs, limb, f"task {limb.name}", X, (END_POSE * scale, END_POSE * scale))
            if not rest:
                twist = pin.getFrameVelocity(model, self._moving(k), frame, pin.LOCAL)
                self._velocity(costs, limb, f"task speed {limb.name}", twist, END_VELOCITY * scale)

    def _moving(self, k: int) -> pin.Data:
        data = self._scene.model.createData()
        pin.forwardKinematics(self._scene.model, data, self._guess.q[k], self._guess.v[k])
        pin.updateFramePlacements(self._scene.model, data)
        return data

    def _pose(
        self,
        costs: CostSum,
        limb: Effector,
        name: str,
        X: pin.SE3,
        weights: tuple[float, float],
        *,
        swings: bool = False,
    ) -> None:
        frame = self._scene.surfaces[limb.surface].frame_id
        if limb.point:
            residual = crocoddyl.ResidualModelFrameTranslation(self._state, frame, X.translation, self._nu)
            factor = SWING_FOOT if swings and limb.name in self._feet else 1.0
            axes = factor * np.array([1.0, 1.0, SWING_HEIGHT if swings else 1.0])
            costs.squares(name, residual, weights[0] * axes)
            return
        residual = crocoddyl.ResidualModelFramePlacement(self._state, frame, X, self._nu)
        costs.squares(name, residual, np.repeat(weights, 3))

    def _velocity(self, costs: CostSum, limb: Effector, name: str, twist: pin.Motion, weight: float) -> None:
        frame = self._scene.surfaces[limb.surface].frame_id
        residual = crocoddyl.ResidualModelFrameVelocity(self._state, frame, twist, pin.LOCAL, self._nu)
        costs.squares(name, residual, np.repeat([weight, 0.0 if limb.point else weight], 3))
