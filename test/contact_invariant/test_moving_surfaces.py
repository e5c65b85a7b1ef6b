"""Contacts of a refinement with surfaces of another character that move, and forces on these."""

import numpy as np
import pinocchio as pin
import pytest

from contact_invariant.contact_schedule import Span
from contact_invariant.moving_surfaces import Load, LoadedActuation, MovingSurface
from contact_invariant.optional_crocoddyl import crocoddyl
from contact_invariant.surroundings import TouchableRectangle

STEP, NODES = 0.02, 26
FACE = TouchableRectangle("bearer/back", pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.3])), np.array([0.3, 0.2]))


@pytest.fixture
def body():
    """A trunk with a limb of one joint, and a patch on it."""
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(root, pin.Inertia.FromBox(10.0, 0.3, 0.4, 0.2), pin.SE3.Identity())
    knee = model.addJoint(root, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0.0, 0.1, -0.1])), "knee")
    model.appendBodyToJoint(knee, pin.Inertia.FromBox(2.0, 0.1, 0.1, 0.4), pin.SE3.Identity())
    frame = model.addFrame(pin.Frame("sole", knee, pin.SE3(np.eye(3), np.array([0.02, 0.0, -0.3])), pin.OP_FRAME))
    return model, frame


@pytest.fixture
def surface():
    """A surface that moves by 0.2 m and turns by 0.5 rad within 0.5 s."""
    times = STEP * np.arange(NODES)
    s = (1.0 - np.cos(np.pi * times / times[-1])) / 2.0
    turns = [pin.exp3(one * np.array([0.3, 0.4, 0.0])) for one in s]
    return MovingSurface(
        times, [pin.SE3(R, one * np.array([0.2, 0.0, 0.1])) for R, one in zip(turns, s, strict=True)], FACE
    )


def _rolled_out(body, surface, *, point=False):
    """Return of each node the error of the patch, the change of momentum, and the force on the patch."""
    model, frame = body
    data, state = model.createData(), crocoddyl.StateMultibody(model)
    q = pin.neutral(model)
    pin.framesForwardKinematics(model, data, q)
    span = Span(0, 0, NODES - 1, FACE.name, surface.poses[0].actInv(data.oMf[frame]), np.eye(3)[2], surface)
    actuation, gains = crocoddyl.ActuationModelFloatingBase(state), np.array([400.0, 32.0])
    x, found, momenta, forces = np.concatenate([q, np.zeros(model.nv)]), [], [], []
    for k in range(NODES - 1):
        contacts, pose = crocoddyl.ContactModelMultiple(state, 1), span.led_at(k, gains, point=point)
        if point:
            contact = crocoddyl.ContactModel3D(state, frame, pose.translation, pin.LOCAL_WORLD_ALIGNED, 1, gains)
        else:
            contact = crocoddyl.ContactModel6D(state, frame, pose, pin.LOCAL, 1, gains)
        contacts.addContact("sole", contact)
        costs = crocoddyl.CostModelSum(state, 1)
        action = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
        node = crocoddyl.IntegratedActionModelEuler(action, STEP)
        made = node.createData()
        node.calc(made, x, np.zeros(1))
        pin.computeAllTerms(model, data, x[: model.nq], x[model.nq :])
        pin.updateFramePlacements(model, data)
        X = span.pose_at(k).actInv(data.oMf[frame])
        found.append(pin.log6(X).vector)
        fext = made.differential.multibody.contacts.contacts["sole"].fext
        forces.append(data.oMi[2].act(fext).vector)
        pin.computeCentroidalMomentumTimeVariation(
            model, data, x[: model.nq], x[model.nq :], np.array(made.differential.xout)
        )
        momenta.append(data.dhg.linear.copy())
        x = np.array(made.xnext)
    return np.array(found), np.array(momenta), np.array(forces)


def test_a_patch_follows_a_surface_that_moves(body, surface):
    errors, _, _ = _rolled_out(body, surface)
    assert np.abs(errors).max() < 6e-3  # Euler's steps of up to 1.3 cm and 0.03 rad
    still = MovingSurface(surface.times, [surface.poses[0]] * NODES, FACE)
    errors, _, _ = _rolled_out(body, still)
    assert np.abs(errors).max() < 1e-6


def test_a_point_follows_it_and_its_link_turns(body, surface):
    errors, _, _ = _rolled_out(body, surface, point=True)
    assert np.abs(errors[:, :3]).max() < 6e-3 and np.abs(errors[-1, 3:]).max() > 0.1


def test_the_change_of_momentum_is_that_of_weight_and_contact(body, surface):
    _, changes, forces = _rolled_out(body, surface)
    weight = pin.computeTotalMass(body[0]) * body[0].gravity.linear
    np.testing.assert_allclose(changes, forces[:, :3] + weight, atol=1e-6)


def test_a_load_does_the_work_of_its_wrench(body):
    model, frame = body
    rng = np.random.default_rng(0)
    q = np.array([pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv)) for _ in range(3)])
    wrenches, v = rng.normal(size=(3, 6)), rng.normal(size=model.nv)
    load = Load(frame, [], wrenches)
    data = model.createData()
    for forces, one, wrench in zip(load.forces(model, q), q, wrenches, strict=True):
        pin.forwardKinematics(model, data, one, v)
        assert forces @ v == pytest.approx(wrench @ pin.getVelocity(model, data, 2, pin.LOCAL).vector)


def test_loaded_dynamics_are_those_with_an_external_force(body):
    model, frame = body
    rng = np.random.default_rng(1)
    q, v = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv)), rng.normal(size=model.nv)
    wrench, u = rng.normal(size=6), rng.normal(size=1)
    state = crocoddyl.StateMultibody(model)
    force = Load(frame, [], wrench[None]).forces(model, q[None])[0]
    contacts, costs = crocoddyl.ContactModelMultiple(state, 1), crocoddyl.CostModelSum(state, 1)
    action = crocoddyl.DifferentialActionModelContactFwdDynamics(
        state, LoadedActuation(state, force), contacts, costs, 0.0, True
    )
    data, x = action.createData(), np.concatenate([q, v])
    action.calc(data, x, u)
    action.calcDiff(data, x, u)
    forces = [pin.Force.Zero(), pin.Force.Zero(), pin.Force(wrench)]
    expected = pin.aba(model, model.createData(), q, v, np.append(np.zeros(6), u), forces)
    np.testing.assert_allclose(data.xout, expected, atol=1e-9)
    more = pin.aba(model, model.createData(), q, v, np.append(np.zeros(6), u + 1.0), forces)
    np.testing.assert_allclose(np.ravel(data.Fu), more - expected, atol=1e-9)
