import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_qp_scene.contact_sequence import Contact, ContactPhase, ContactSequence, surface_pose
from multi_qp_scene.errors import ConfigError, MultiQpError
from multi_qp_scene.sequence_file import (
    load_contact_sequence,
    parse_contact_sequence,
    save_contact_sequence,
)
from multi_qp_scene.yaml_document import YamlDocument

FILE = """
description: one step
models: {walker: humanoid}
friction: 0.6
contacts:
  left: {surface: walker/left_sole, xyz: [0, 0.09, 0]}
  right: {surface: walker/right_sole, xyz: [0, -0.09, 0], friction: 0.3}
  wall: {surface: walker/left_palm, xyz: [0.3, 0.5, 1], normal: [0, -1, 0], size: [0, 0], other: wall/face}
phases:
  - {name: both, contacts: [left, right], com: {walker: [0, 0, 0.8]}, duration: 0.5}
  - {contacts: [left, wall]}
"""


def parsed(text):
    return parse_contact_sequence(YamlDocument.parse(text), name="test")


def foot(name="left", xyz=(0.0, 0.1, 0.0), **changes):
    return Contact.planar(name, pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array(xyz)), (0.2, 0.1), friction=0.5, **changes)


def test_a_file_gives_poses_extents_and_friction():
    sequence = parsed(FILE)
    left, right = sequence.phases[0].contacts
    assert left.surface == "walker/left_sole"
    assert (left.friction, right.friction) == (0.6, 0.3)
    assert left.size == (0.21, 0.1)  # the model's
    assert np.allclose(left.normal, [0, 0, 1])
    assert np.allclose(left.normals @ left.pose.rotation.T, [[0, 0, 1]] * 4)
    wall = sequence.phases[1].contacts[1]
    assert (wall.kind, wall.other, len(wall.points)) == ("point", "wall/face", 1)
    assert np.allclose(wall.normals @ wall.pose.rotation.T, [[0, -1, 0]])
    assert np.allclose(wall.pose.rotation[:, 0], [1, 0, 0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_saved_sequence_is_loaded_unchanged(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    contacts = []
    for k in range(4):
        pose = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
        size = (0.0, 0.0) if k == 0 else tuple(rng.uniform(0.01, 0.3, 2))
        kind = Contact.planar(f"c {k}", pose, size, friction=float(rng.uniform(0, 1)), subsystem="a", other="b/c")
        contacts.append(kind)
    phases = [
        ContactPhase(tuple(contacts), "all of them", {"a": rng.normal(size=3)}, 1.5),
        ContactPhase(tuple(contacts[1:]), "true"),
    ]
    sequence = ContactSequence(tuple(phases), {}, "s", "what: it's")
    path = tmp_path_factory.mktemp("sequences") / "s.yaml"
    save_contact_sequence(sequence, path)
    again = load_contact_sequence(path)
    assert (again.name, again.description) == ("s", "what: it's")
    for old, new in zip(sequence.phases, again.phases, strict=True):
        assert (old.name, old.duration) == (new.name, new.duration)
        for first, second in zip(old.contacts[1:], new.contacts[1:], strict=False):
            assert first.pose.isApprox(second.pose, 1e-7)
            assert np.allclose(first.points, second.points)
            assert first.friction == pytest.approx(second.friction, abs=1e-8)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("friction: 0.3", "friction: -0.3", "expected a number from 0 to 10, got -0.3"),
        ("[0, 0.09, 0]", "[0, .nan, 0]", "finite"),
        ("normal: [0, -1, 0]", "normal: [0, -2, 0]", "length 1, got one of length 2"),
        ("normal: [0, -1, 0]", "normal: [0, -1, 0], forward: [0, 3, 0]", "not along the normal"),
        ("contacts: [left, wall]", "contacts: []", "contacts"),
        ("contacts: [left, wall]", "contacts: [lefty]", "did you mean 'left'"),
        ("walker/left_sole", "walker/left_soul", "did you mean 'left_sole'"),
        ("walker/left_sole", "left_sole", "surface"),
        ("models: {walker: humanoid}", "models: {walker: humanoit}", "humanoid"),
        ("models: {walker: humanoid}", "models: {}", "needs a `size`"),
        ("com: {walker:", "com: {walter:", "did you mean 'walker'"),
        ("[left, wall]", "[left, left]", "in two contacts at once"),
    ],
)
def test_an_invalid_file_is_reported_with_its_line(old, new, words):
    with pytest.raises(ConfigError, match=words) as caught:
        parsed(FILE.replace(old, new))
    assert all(problem.location.line for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"friction": -0.1}, "at least 0"),
        ({"friction": float("nan")}, "finite"),
        ({"normals": np.array([[0, 0, 2.0]])}, "length 1"),
        ({"points": np.array([[0, 0, np.nan]])}, "points must be finite"),
        ({"points": np.zeros((0, 3)), "normals": np.zeros((0, 3))}, "k ≥ 1"),
        ({"pose": pin.SE3(np.eye(3) * 2.0, np.zeros(3))}, "not a rotation"),
    ],
)
def test_invalid_contacts_are_refused(changes, words):
    fine = {
        "name": "p",
        "subsystem": "a",
        "effector": "p",
        "pose": pin.SE3.Identity(),
        "points": np.zeros((1, 3)),
        "normals": np.array([[0.0, 0.0, -1.0]]),
        "friction": 0.5,
    }
    with pytest.raises(MultiQpError, match=words):
        Contact(**{**fine, **changes})


def test_phases_without_contacts_and_sequences_without_phases_are_refused():
    with pytest.raises(MultiQpError, match="no contacts"):
        ContactPhase(())
    with pytest.raises(MultiQpError, match="no phases"):
        ContactSequence(())


def test_made_kept_and_broken_contacts_of_consecutive_phases():
    left, right, moved = foot(), foot("right", (0, -0.1, 0)), foot("left", (0.3, 0.1, 0))
    first, second = ContactPhase((left, right)), ContactPhase((moved, right))
    assert [c.name for c in first.maintained(second)] == ["right"]
    assert first.made(second) == (moved,)
    assert first.broken(second) == (left,)


def test_phases_that_only_others_change_are_merged_for_one_subsystem():
    a, b = foot(subsystem="a"), foot(subsystem="b")
    b2 = foot(xyz=(1, 0, 0), subsystem="b")
    phases = (ContactPhase((a, b), duration=1.0), ContactPhase((a, b2), duration=2.0))
    sequence = ContactSequence(phases)
    assert sequence.subsystems == ("a", "b")
    (only,) = sequence.of("a").phases
    assert only.duration == 3.0
    assert len(sequence.of("b").phases) == 2
    with pytest.raises(MultiQpError, match="no contact in phase"):
        sequence.of("c")


def test_rays_lie_on_the_coulomb_cone_around_the_normal():
    contact = foot()
    rays = contact.rays()
    along = rays @ contact.normal
    assert np.allclose(np.linalg.norm(rays, axis=2), 1.0)
    assert np.allclose(along, 1.0 / np.sqrt(1.0 + contact.friction**2))


def test_surface_pose_is_aligned():
    pose = surface_pose(np.zeros(3), np.array([1.0, 0, 0]), np.array([0.3, 0, 1.0]))
    assert np.allclose(pose.rotation[:, 2], [-1, 0, 0])
    assert np.allclose(pose.rotation[:, 0], [0, 0, 1])
