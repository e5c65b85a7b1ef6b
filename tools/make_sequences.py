"""Writer of the humanoid's contact sequences in config/sequences/.

Sequences with hands have centres of mass for which inverse kinematics has found a collision-free posture; the motion
along the polyline through them is checked. Infeasible sequences are not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from phase_postures import with_postures

from com_trajectory.kinematics import load_polytopes
from com_trajectory.planner import PlanOptions, plan_com
from motion_generation.planning import plan_scenario
from multi_qp_cli.com.bodies import BoxObstacle, PosedRobot
from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence, surface_pose
from multi_qp_scene.models import valid_model
from multi_qp_scene.resources import model_path
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.sequence_file import save_contact_sequence
from multi_qp_scene.surfaces import planar_points

FOLDER = Path(__file__).parents[1] / "config" / "sequences"
UP = (0.0, 0.0, 1.0)
NAME = "walker"
GAP = 0.003  # [m] gap between blocks and the surfaces in contact with them
#: The x axes of palms that are flat on a horizontal surface with the fingers forward.
LEFT_FINGERS, RIGHT_FINGERS = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)
PALMS = {"left_palm": LEFT_FINGERS, "right_palm": RIGHT_FINGERS}

POLYLINE = PlanOptions(curve="polyline")


@dataclass
class Script:
    """Builder of a contact sequence: contacts are made and broken one by one."""

    name: str
    description: str
    friction: float = 0.6
    model: str = "humanoid"
    phases: list[ContactPhase] = field(default_factory=list)
    blocks: list[BoxObstacle] = field(default_factory=list)
    on: dict[str, Contact] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the sizes of the surfaces."""
        self._surfaces = valid_model(model_path(self.model)).spec.surfaces

    def block(self, size, xyz, pitch: float = 0.0) -> Script:
        """Add a box with its centre at `xyz`, rotated about y by `pitch` [rad]."""
        self.blocks.append(BoxObstacle(tuple(size), pin.SE3(pin.rpy.rpyToMatrix(0.0, pitch, 0.0), np.array(xyz))))
        return self

    def put(self, surface: str, xyz, normal=UP, forward=None) -> Script:
        """Add a contact without ending the phase."""
        forward = PALMS.get(surface, (1.0, 0.0, 0.0)) if forward is None else forward
        normal = np.array(normal, dtype=float)
        pose = surface_pose(np.array(xyz, dtype=float), normal / np.linalg.norm(normal), np.array(forward, dtype=float))
        self._count[surface] = self._count.get(surface, 0) + 1
        size = self._surfaces[surface].size
        points, normals = planar_points(size)
        name = f"{surface}_{self._count[surface]}"
        self.on[surface] = Contact(name, NAME, surface, pose, points, normals, self.friction, "planar", size)
        return self

    def phase(self) -> Script:
        """Append a phase with the active contacts."""
        self.phases.append(ContactPhase(tuple(self.on.values())))
        return self

    def lift(self, surface: str) -> Script:
        """Break a contact."""
        del self.on[surface]
        return self.phase()

    def make(self, surface: str, xyz, **where) -> Script:
        """Make a contact."""
        return self.put(surface, xyz, **where).phase()

    def move(self, surface: str, xyz, **where) -> Script:
        """Break a contact and make it at another place."""
        return self.lift(surface).make(surface, xyz, **where)

    def save(
        self, *, posed: bool = False, postures: Sequence[np.ndarray] = (), followed: PlanOptions = POLYLINE
    ) -> None:
        """Write the file.

        Args:
            posed: compute centres of mass and postures.
            postures: known postures, between which the body must follow the trajectory.
            followed: the trajectory's options.
        """
        if posed or postures:
            self.block((6.0, 6.0, 0.1), (0.0, 0.0, -0.05 - GAP))
            bodies, found = PosedRobot(self.model, self.blocks), list(postures)
            if posed:
                self.phases, found = with_postures(bodies, self.phases, NAME)
            polytopes = {n: effector.polytope for n, effector in load_polytopes(self.model).effectors.items()}
            trajectory = plan_com(self._sequence(), polytopes, options=followed)
            lost = bodies.first_unreachable_time(trajectory, found)
            if lost is not None:
                number = int(trajectory.phase_at(lost))
                raise SystemExit(f"{self.name}: no posture at {lost:.2f} s, in phase {number + 1}; {trajectory.notes}")
            print(f"{self.name}: {len(found)} postures, and a motion of {trajectory.duration:.1f} s between them")
        save_contact_sequence(self._sequence(), FOLDER / f"{self.name}.yaml")

    def _sequence(self) -> ContactSequence:
        return ContactSequence(tuple(self.phases), {NAME: self.model}, self.name, self.description)


def steps(script: Script, places: list[tuple[float, float]], *, normal=UP, width: float = 0.09) -> None:
    """Walk over places (x, z), right foot first, and bring the feet together at the last."""
    script.put("left_sole", (0.0, width, 0.0), normal).put("right_sole", (0.0, -width, 0.0), normal).phase()
    sides = [("right_sole", -width), ("left_sole", width)]
    for k, (x, z) in enumerate([*places, places[-1]]):
        surface, y = sides[k % 2]
        script.move(surface, (x, y, z), normal=normal)


def chair() -> None:
    """Sit down and rise, with the hands on the arm rests; the armchair is that of the scenario `chair`."""
    script = Script("chair", "sitting down in an armchair with the hands on its arm rests, and rising again")
    script.block((0.3, 0.4, 0.34), (-0.3, 0.0, 0.17 - GAP)).block((0.05, 0.4, 0.85), (-0.475, 0.0, 0.425))
    for y in (0.33, -0.33):
        script.block((0.3, 0.1, 0.56), (-0.15, y, 0.28 - GAP))
    script.put("left_sole", (0.0, 0.1, 0.0)).put("right_sole", (0.0, -0.1, 0.0)).phase()
    hands = {"left_palm": (-0.04, 0.33, 0.56), "right_palm": (-0.04, -0.33, 0.56)}
    for hand, place in hands.items():
        script.make(hand, place)
    script.make("seat", (-0.29, 0.0, 0.34))
    for hand in hands:
        script.lift(hand)
    for hand, place in hands.items():
        script.make(hand, place)
    script.lift("seat")
    for hand in hands:
        script.lift(hand)
    script.save(posed=True)


def climbing() -> None:
    """Climb cubes twice as high as a stair with a hand on a rail: the contact planner's solution for `climb_hands`."""
    scenario = load_scenario("climb_hands", seed=2)
    plan = plan_scenario(scenario).plan
    if not plan.complete:
        raise SystemExit(f"climbing: the planner does not reach the goal: {plan.reason}")
    script = Script("climbing", "climbing high cubes with a hand on the rails beside them, as the contact planner does")
    for spec in scenario.spec.environment.values():
        if spec.box is not None:
            rotation = pin.rpy.rpyToMatrix(*spec.pose.rpy)
            script.blocks.append(BoxObstacle(spec.box, pin.SE3(rotation, spec.pose.xyz - GAP * rotation[:, 2])))
    known: dict[int, Contact] = {}
    phases = plan.sequence.phases[:-1]  # the last phase only straightens the body
    for phase, after in zip(phases, [*phases[1:], phases[-1]], strict=True):  # postures at its beginning
        for contact in phase.contacts:
            known.setdefault(id(contact), replace(contact, subsystem=NAME, other=None))
        com = {NAME: next(iter(after.com.values())).round(4)}
        script.phases.append(ContactPhase(tuple(known[id(contact)] for contact in phase.contacts), com=com))
    script.save(postures=plan.postures[: len(phases)] + plan.postures[len(phases) - 1 : len(phases)])


def twister() -> None:
    """Support on hands and feet, one of them moves at each turn."""
    script = Script("twister", "the game: one hand or foot moves at each turn", friction=0.7)
    script.put("left_sole", (-0.15, 0.15, 0.0)).put("right_sole", (-0.15, -0.15, 0.0)).phase()
    script.make("left_palm", (0.32, 0.2, 0.0)).make("right_palm", (0.32, -0.2, 0.0))
    script.move("left_palm", (0.4, 0.3, 0.0))
    script.move("right_sole", (-0.05, -0.25, 0.0))
    script.move("right_palm", (0.4, -0.05, 0.0))
    script.move("left_sole", (-0.1, 0.25, 0.0))
    script.move("left_palm", (0.32, 0.3, 0.0))
    script.lift("right_palm").lift("left_palm")
    script.save(posed=True)


def wall() -> None:
    """Climb ledges that slope outwards by 33 degrees, 2 degrees more than their friction holds, with one hand."""
    script = Script("wall", "up ledges that slope outwards too steeply to stand on, with one hand on flat holds")
    tilt = np.radians(33.0)
    normal, way = np.array((-np.sin(tilt), 0.0, np.cos(tilt))), np.array((0.2, 0.0, 0.2))
    feet, hold = {"right_sole": (0.0, -0.1, 0.2), "left_sole": (0.0, 0.1, 0.2)}, np.array((0.3, -0.25, 0.9))
    for k in range(4):
        for foot in feet.values():
            script.block((0.2, 0.1, 0.04), foot + k * way - (0.02 + GAP) * normal, -tilt)
        script.block((0.09, 0.12, 0.04), hold + k * way - (0.0, 0.0, 0.02 + GAP))
    for surface, place in feet.items():
        script.put(surface, place, normal)
    script.put("right_palm", hold).phase()
    for k in range(1, 4):
        for surface, place in feet.items():
            script.move(surface, place + k * way, normal=normal)
        script.move("right_palm", hold + k * way)
    for number, phase in enumerate(script.phases):
        if len(phase.contacts) == 3:
            soles = [contact.pose.translation for contact in phase.contacts if contact.effector in feet]
            com = np.mean(soles, axis=0) + (-0.02, -0.05, 0.65)
            script.phases[number] = replace(phase, com={NAME: com.round(4)})
    bodies, ends = PosedRobot(script.model, script.blocks), []
    for phase in (script.phases[0], script.phases[-1]):
        ends.append(bodies.reach(phase.contacts, phase.com[NAME], ends[-1] if ends else bodies.rest))
        if ends[-1] is None:
            raise SystemExit("wall: there is no posture at an end")
    script.save(postures=ends, followed=PlanOptions(dynamic=True))


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    level = Script("level_walking", "eight steps of 20 cm on level ground")
    steps(level, [(0.2 * k, 0.0) for k in range(1, 8)])
    level.save()
    stairs = Script("stairs", "up six stairs of 14 cm, one foot on each")
    steps(stairs, [(0.25 * k, 0.14 * k) for k in range(1, 6)])
    stairs.save()
    uneven = Script("uneven_stairs", "stairs of different heights and depths, up and down again")
    steps(uneven, [(0.22, 0.1), (0.47, 0.27), (0.67, 0.32), (0.95, 0.45), (1.15, 0.38), (1.42, 0.25)])
    uneven.save()
    slope = np.radians(25.0)
    steep = Script("steep_slope", "up a slope of 25 degrees in steps of 18 cm")
    places = [(0.18 * k * np.cos(slope), 0.18 * k * np.sin(slope)) for k in range(1, 6)]
    steps(steep, places, normal=(-np.sin(slope), 0.0, np.cos(slope)))
    steep.save()
    chair()
    twister()
    climbing()
    wall()


if __name__ == "__main__":
    main()
