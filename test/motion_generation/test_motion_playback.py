"""Synthesised motions as states of the controller: storage, playback, errors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from standing_behaviour import STANDING

from contact_invariant.character_builder import character_of
from contact_invariant.starts import with_refinement
from contact_invariant.store import cache_path
from contact_invariant.timed_plan import TimedPlan
from motion_generation.motion_playback import MotionPlayback, feet_of_plan
from motion_generation.synthesised_states import synthesise_scenario, with_motion
from multi_qp_controller.controller import Controller
from multi_qp_controller.dynamics.kinematics import Kinematics
from multi_qp_controller.motion_generator import GeneratorInput
from multi_qp_scene.errors import MultiQpError
from multi_qp_scene.pairs import watched_pairs
from multi_qp_scene.scenario import load_scenario
from multi_qp_scene.scene import State
from multi_qp_scene.schema.behaviour import PositionTerm
from multi_qp_scene.schema.mismatch import MismatchSpec, PushSpec
from multi_qp_simulator.runner import run_scenario

SCENARIO = (
    "description: a humanoid stands still"
    + STANDING
    + """
  effectors: {left_foot: {surface: left_sole}, right_foot: {surface: right_sole}, left_hand: {surface: left_palm}}
  terms: [{type: stand, feet: [left_foot, right_foot]}]
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("motion")


@pytest.fixture(scope="module")
def scenario(folder):
    (folder / "stand.yaml").write_text(SCENARIO)
    return load_scenario(str(folder / "stand.yaml"))


@pytest.fixture(scope="module")
def made(folder, scenario):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        return synthesise_scenario(scenario), synthesise_scenario(scenario)


def test_a_motion_that_passes_is_computed_once(made):
    first, second = made
    assert (first.passed, first.computed) == (True, True)
    assert (second.passed, second.computed) == (True, False)
    assert first.scenario.spec.states == second.scenario.spec.states


def test_it_is_carried_out(made):
    result = run_scenario(made[1].scenario)
    assert result.succeeded and result.report["qp_failures"] == 0
    contacts = made[1].scenario.spec.states["motion"].generators["motion"].owned_contacts
    assert set(contacts) == {"left_foot_on_ground_floor", "right_foot_on_ground_floor"}


def test_its_goal_is_that_of_its_task_terms(made, scenario):
    """A term that is 5 cm beside what the motion was made for is not reached, and named."""
    com = character_of(scenario).features_at(scenario.scene, scenario.scene.q0)[:2]
    beside = PositionTerm(type="position", target=(com[0] + 0.05, com[1]))
    played = made[1].scenario
    behaviour = played.spec.behaviour.model_copy(update={"terms": [*played.spec.behaviour.terms, beside]})
    other = replace(played, spec=played.spec.model_copy(update={"behaviour": behaviour}))
    right, wrong = (run_scenario(one).report["goals"]["task_distance"] for one in (played, other))
    assert right["reached"] and right["error"] < 0.02 and right["value"].startswith("stand: ")
    assert not wrong["reached"] and wrong["error"] == pytest.approx(0.05, abs=0.02)
    assert wrong["value"].startswith("position: centre of mass, end of phase 2")


def test_its_goal_is_not_reached_by_one_that_is_pushed_over_at_rest_or_that_ends_early(made):
    played = made[1].scenario
    push = PushSpec(link="humanoid/torso", force=600.0, at=0.7, duration=0.2)
    pushed = replace(played, spec=played.spec.model_copy(update={"mismatch": MismatchSpec(pushes=[push])}))
    goals = run_scenario(pushed, backend="mujoco").report["goals"]
    assert not goals["task_distance"]["reached"] or not goals["task_angle"]["reached"]
    goals = run_scenario(played, duration=0.3).report["goals"]
    assert goals["task_distance"]["error"] is None and not goals["task_distance"]["reached"]


def test_a_foot_that_stands_has_no_task_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = run_scenario(synthesise_scenario(with_refinement(load_scenario("wide_walk"), False)).scenario).log
    for foot in ("left_foot", "right_foot"):
        errors = log.task_error[:, log.task_names.tolist().index(f"motion/{foot}/position")]
        standing = log.contact_active[:, log.contact_names.tolist().index(f"{foot}_on_ground_floor")]
        assert np.isfinite(errors).any() and np.isnan(errors[standing]).all()


def test_the_file_has_what_was_synthesised(folder, made):
    (path,) = folder.glob("multi_qp_controller/motions/*.npz")
    plan = TimedPlan.load(path)
    assert plan.effectors.tolist() == ["left_foot", "right_foot", "left_hand"]
    assert plan.touched[-1].tolist() == ["ground/floor", "ground/floor", ""]
    assert plan.knots.tolist() == pytest.approx([0.0, 0.15, 0.3, 0.45, 0.6])
    np.testing.assert_allclose(plan.postures[-1, :7], made[0].scenario.scene.q0[:7], atol=0.03)


def test_a_sole_does_not_land_by_the_force_on_the_toes_of_its_link(scenario, made):
    file = made[1].scenario.spec.states["motion"].generators["motion"].file
    plan = TimedPlan.load(Path(file))
    assert feet_of_plan(scenario.scene, plan) == [0, 1]
    surfaces = [plan.surfaces[0], plan.surfaces[0], *plan.surfaces[2:]]
    assert feet_of_plan(scenario.scene, replace(plan, surfaces=np.array(surfaces))) == []


def test_limbs_on_a_wall_land_when_they_touch_if_gains_hold_the_balance(tmp_path, made):
    file = made[1].scenario.spec.states["motion"].generators["motion"].file
    plan = TimedPlan.load(Path(file))
    wall = "environment: {wall: {box: [0.1, 2, 1], pose: {xyz: [1, 0, 0.5]}}, "
    (tmp_path / "wall.yaml").write_text(SCENARIO.replace("environment: {", wall))
    scene = load_scenario(str(tmp_path / "wall.yaml")).scene
    touched = plan.touched.copy()
    touched[-1, 2] = "wall/back"
    assert feet_of_plan(scene, replace(plan, touched=touched)) == [0, 1]
    assert feet_of_plan(scene, replace(plan, touched=touched, gains=np.ones((1, 1, 1)))) == [0, 1, 2]


@pytest.mark.parametrize(("second", "by_gains"), [("left_knee", 1.0), ("right_sole", 0.0)])
def test_a_foot_in_the_air_follows_the_gains_on_fewer_than_three_points(tmp_path, scenario, made, second, by_gains):
    """There, nothing else stops a body that tips about them; beside a sole, the foot follows its path."""
    plan = TimedPlan.load(Path(made[1].scenario.spec.states["motion"].generators["motion"].file))
    touched = np.full_like(plan.touched, "ground/floor")
    touched[:2, 0] = ""  # the left foot swings
    surfaces = np.array(["humanoid/left_sole", f"humanoid/{second}", "humanoid/right_knee"])
    scene, nv = scenario.scene, scenario.scene.nv
    gains = np.random.default_rng(0).normal(size=(len(plan.knots), 2 * nv**2)).astype(np.float32)
    moved = np.full(nv, 1e-3)
    kinematics = Kinematics(scene)
    kinematics.update(State(pin.integrate(scene.model, plan.postures[0], moved), np.zeros(nv)))
    asked = []
    for factor in (0.0, 1.0):
        path = tmp_path / f"{factor}.npz"
        played = replace(plan, touched=touched, surfaces=surfaces, gains=(factor * gains).astype(np.float32))
        played.save(path)
        states = with_motion(scenario, played, path)
        generator = MotionPlayback("motion", states.spec.states["motion"].generators["motion"], states)
        asked.append(generator.update(GeneratorInput(0.0, 0.005, kinematics, None)).references["left_foot"][18:])
    frame = scene.frame_id("humanoid/left_sole")
    change = kinematics.jacobian(frame) @ (gains[0].reshape(nv, -1)[:, :nv] @ moved)
    turned = (kinematics.pose(frame).rotation @ change.reshape(2, 3).T).T.ravel()
    np.testing.assert_allclose(asked[1] - asked[0], by_gains * turned, atol=1e-6)


def test_another_behaviour_is_another_motion(folder, scenario, monkeypatch):
    behaviour = scenario.spec.behaviour.model_copy(update={"friction": 0.5})
    other = replace(scenario, spec=scenario.spec.model_copy(update={"behaviour": behaviour}))
    assert cache_path(other) != cache_path(scenario) == cache_path(scenario)
    dampers = scenario.spec.collisions.model_copy(update={"damping": 1.0})
    faster = replace(scenario, spec=scenario.spec.model_copy(update={"collisions": dampers}))
    assert cache_path(faster) != cache_path(scenario)


def test_links_that_make_no_contact_in_the_motion_keep_off_solids(folder, scenario, made):
    (path,) = folder.glob("multi_qp_controller/motions/*.npz")
    plan = TimedPlan.load(path)

    def pairs(touched):
        written = with_motion(scenario, replace(plan, touched=touched), path)
        return {pair.bodies for pair in written.spec.collisions.pairs}

    assert pairs(plan.touched) == {("humanoid/l_wrist_roll_link", "ground/ground_link")}
    props = plan.touched.copy()
    props[0, 2] = "ground/floor"
    assert pairs(props) == set()


@pytest.mark.parametrize(("bent_by", "close"), [(0.8, False), (0.86, True)])
def test_links_that_a_motion_leads_closer_than_their_damper_allows_may_touch(folder, made, bent_by, close):
    """Chest and thigh are 4 and 0.6 mm apart; pairs that neither the file nor the model lists are kept 2 mm apart."""
    plan = TimedPlan.load(next(folder.glob("multi_qp_controller/motions/*.npz")))
    folded = load_scenario("get_up_from_back")
    scene, limits = folded.scene, folded.scene.limits
    joints, q = [scene.velocity_names[k] for k in limits.v_index], scene.q0.copy()
    hip, chest = (joints.index(f"humanoid/{name}") for name in ("R_HIP_P", "CHEST_P"))
    q[limits.q_index[hip]] += bent_by * (limits.lower[hip] - q[limits.q_index[hip]])
    q[limits.q_index[chest]] = bent_by * limits.upper[chest]
    written = with_motion(folded, replace(plan, postures=np.array([scene.q0, q, scene.q0])), folder / "folded.npz")
    both = ("humanoid/chest_pitch_link", "humanoid/r_hip_pitch_link")
    (pair,) = [one for one in watched_pairs(scene, written.spec.collisions) if one.links == both]
    assert pair.security == (0.0 if close else 0.002) and pair.damper
    others = {one.links: one.security for one in watched_pairs(scene, folded.spec.collisions) if one.links != both}
    assert others.items() <= {one.links: one.security for one in watched_pairs(scene, written.spec.collisions)}.items()


def test_a_hand_that_a_motion_holds_to_the_air_does_not_land(folder, scenario, made):
    plan = TimedPlan.load(next(folder.glob("multi_qp_controller/motions/*.npz")))
    touched = plan.touched.copy()
    touched[2:, 2] = "ground/floor"
    replace(plan, touched=touched).save(folder / "held.npz")
    report = run_scenario(with_motion(scenario, TimedPlan.load(folder / "held.npz"), folder / "held.npz")).report
    assert {made["contact"] for made in report["contacts_made"]} == {
        "left_foot_on_ground_floor",
        "right_foot_on_ground_floor",
    }
    (missed,) = report["contacts_missed"]
    assert (missed["contact"], missed["state"]) == ("left_hand_on_ground_floor", "motion")
    assert missed["time"] == pytest.approx(plan.knots[2], abs=0.006) and missed["until"] > plan.knots[-1]
    assert not report["health"]["healthy"] and "was not made: nothing touched" in report["health"]["problems"][0]


def test_a_foot_of_which_a_motion_plans_a_gap_lands_on_the_surface(folder, scenario, made):
    plan = TimedPlan.load(next(folder.glob("multi_qp_controller/motions/*.npz")))
    touched, x = plan.touched.copy(), plan.x.copy()
    touched[1:3, 1] = ""  # the right foot swings
    x[2:, 6 + 6 * 1 + 2] += 0.008
    replace(plan, touched=touched, x=x).save(folder / "gap.npz")
    report = run_scenario(with_motion(scenario, TimedPlan.load(folder / "gap.npz"), folder / "gap.npz")).report
    _, landing = [made for made in report["contacts_made"] if made["contact"] == "right_foot_on_ground_floor"]
    assert landing["gap_m"] < 0.002 and report["qp_failures"] == 0
    assert report["contacts_missed"] == []  # late by the time that its descent takes


def test_a_motion_of_another_character_is_refused(folder, scenario, made):
    (path,) = folder.glob("multi_qp_controller/motions/*.npz")
    plan = TimedPlan.load(path)
    other = folder / "other.npz"
    replace(plan, postures=plan.postures[:, :-1]).save(other)
    with pytest.raises(MultiQpError, match="is a motion of another character than 'humanoid'"):
        Controller(with_motion(scenario, plan, other))


def test_a_file_that_is_no_motion_is_refused(folder, scenario, made):
    (path,) = folder.glob("multi_qp_controller/motions/*.npz")
    bad = folder / "bad.npz"
    bad.write_bytes(b"nothing")
    with pytest.raises(MultiQpError, match="is not a synthesised motion"):
        Controller(with_motion(scenario, TimedPlan.load(path), bad))


def test_a_stored_motion_is_played_without_casadi():
    code = """
import sys
sys.modules["casadi"] = None
import motion_generation.motion_playback, motion_generation.synthesised_states
from multi_qp_scene.errors import MultiQpError
try:
    import contact_invariant.synthesis
except MultiQpError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "the synthesis of motions needs CasADi: pip install" in done.stdout


def test_a_motion_that_cannot_be_played_is_refused_with_the_bounds_that_it_misses(tmp_path, monkeypatch):
    def no_plan(*_):
        raise MultiQpError("the motion ends without a contact")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    start = SimpleNamespace(passed=False, missed="task distance, flight", rank=(True, 2, 0.0))
    monkeypatch.setattr("contact_invariant.starts.Starts.until_one_passes", lambda *_: [start])
    monkeypatch.setattr("contact_invariant.starts.Starts.plan", no_plan)
    with pytest.raises(MultiQpError, match="without a contact; not met: task distance, flight; .* synthesize walk_to"):
        synthesise_scenario(load_scenario("walk_to"))


FEW = [
    *(("obstacle", 2), ("climb_up", 0), ("climb_high", 3)),
    *(("on_all_fours", 2), ("on_shoulders", 0), ("get_up_from_belly", 3)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), FEW)
def test_behaviours_of_few_seeds_are_carried_out_in_the_integrator(name, seed, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = Path(__file__).parents[1] / "contact_invariant" / f"{name}.yaml"
    made = synthesise_scenario(load_scenario(str(file) if file.exists() else name, seed=seed))
    assert made.passed, made.missed
    result = run_scenario(made.scenario)
    assert result.succeeded and result.report["qp_failures"] == 0 and result.report["health"]["healthy"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("walk_to", "wide_walk", "wide_get_up", "quadruped_walk", "quadruped_get_up", "get_up_from_back"),
        *("punch", "kick", "step_over", "carry", "hand_over", "handstand", "on_back"),
    ],
)
@pytest.mark.parametrize("backend", ["integrator", "mujoco"])
def test_behaviours_are_carried_out(name, backend, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = synthesise_scenario(load_scenario(name))
    assert made.passed
    result = run_scenario(made.scenario, backend=backend)
    assert result.succeeded and result.report["qp_failures"] == 0


@pytest.mark.slow
def test_a_passage_on_a_diagonal_needs_the_gains_of_its_plan(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = Path(__file__).parents[1] / "contact_invariant" / "short_quadruped_walk.yaml"
    scenario = load_scenario(str(file), seed=6)
    assert synthesise_scenario(scenario).passed
    (path,) = tmp_path.glob("multi_qp_controller/motions/*.npz")
    plan, other = TimedPlan.load(path), tmp_path / "without.npz"
    push = PushSpec(link="quadruped/base_link", direction=(0.0, 1.0, 0.0), force=20.0, duration=0.1, at=1.0)
    pushed = replace(scenario, spec=scenario.spec.model_copy(update={"mismatch": MismatchSpec(pushes=[push])}))
    assert run_scenario(with_motion(pushed, plan, path), backend="mujoco").succeeded
    without = replace(plan, gains=plan.gains[:0])
    without.save(other)
    assert not run_scenario(with_motion(pushed, without, other), backend="mujoco").succeeded
