"""Test problems for solvers: random ones, and the QP of a standing humanoid that holds an object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from multi_qp_controller.qp import LabelBlock, Labels, QPProblem
from multi_qp_scene.arrays import Array

FRICTION = 0.7
# Joint that carries the surface: direction, in its frame, of the force on it.
CONTACTS = {
    "rleg_wrist2_joint": (0.0, 0.0, 1.0),
    "lleg_wrist2_joint": (0.0, 0.0, 1.0),
    "rarm_wrist2_joint": (0.0, -1.0, 0.0),
    "larm_wrist2_joint": (0.0, 1.0, 0.0),
}
AXES = ("linear x", "linear y", "linear z", "angular x", "angular y", "angular z")


def random_problem(
    rng: np.random.Generator, *, n: int, m: int, p: int, bounded: bool = True, condition: float = 1e3
) -> QPProblem:
    """Return a strictly convex problem, feasible by construction, some sides of which will be active."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    H = (Q * np.geomspace(1.0, condition, n)) @ Q.T
    inside = rng.normal(size=n)
    A, C = rng.normal(size=(m, n)), rng.normal(size=(p, n))
    y = C @ inside
    low, high = y - rng.uniform(0.01, 1.0, p), y + rng.uniform(0.01, 1.0, p)
    low[rng.uniform(size=p) < 0.3] = -np.inf
    high[rng.uniform(size=p) < 0.3] = np.inf
    reach = rng.uniform(0.01, 2.0, n) if bounded else np.full(n, np.inf)
    return QPProblem.of(
        0.5 * (H + H.T),
        10 * rng.normal(size=n),
        A=A,
        b=A @ inside,
        C=C,
        l=low,
        u=high,
        lb=inside - reach,
        ub=inside + reach,
    )


@dataclass(frozen=True)
class Standing:
    """The parts of the standing humanoid's QP that both formulations share."""

    model: pin.Model
    actuated: slice
    mass_matrix: Array  # (nv, nv)
    bias: Array  # (nv,)
    contact_jacobian: Array  # (6 c, nv)
    contact_drift: Array  # (6 c,)
    wrench_map: Array  # (6 c, 16 c), wrench in the contact frame from multipliers
    task_hessian: Array  # (nv, nv)
    task_gradient: Array  # (nv,)
    torque_limit: Array  # (na,)
    collision_rows: Array  # (k, nv)


def facet_map(half_x: float = 0.1, half_y: float = 0.05) -> Array:
    """Return the 6 x 16 map from the pyramid edges at four corners to the wrench at the centre."""
    columns = []
    for x in (-half_x, half_x):
        for y in (-half_y, half_y):
            for tx, ty in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                force = np.array([FRICTION * tx, FRICTION * ty, 1.0]) / np.hypot(FRICTION, 1.0)
                columns.append(np.concatenate([force, np.cross([x, y, 0.0], force)]))
    return np.array(columns).T


def standing(seed: int, *, violent: bool = True, phase: float = 0.0) -> Standing:
    """Return a random moment of a humanoid on two feet with a 6-DoF object between its hands.

    `phase` moves every joint by that many radians or less, and the task targets with it: the same motion,
    later.
    """
    rng = np.random.default_rng(seed)
    model = pin.buildSampleModelHumanoid()
    robot_dofs = model.nv
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "object/root_joint")
    model.appendBodyToJoint(joint, pin.Inertia.FromBox(5.0, 0.3, 0.3, 0.3), pin.SE3.Identity())
    data = model.createData()
    q = pin.integrate(model, pin.neutral(model), 0.15 * rng.normal(size=model.nv))
    q = pin.integrate(model, q, phase * np.random.default_rng(seed).uniform(-1, 1, model.nv))
    v = 0.2 * rng.normal(size=model.nv)
    pin.computeAllTerms(model, data, q, v)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    jacobians = [_contact_jacobian(model, data, name, joint, normal) for name, normal in CONTACTS.items()]
    J = np.vstack(jacobians)
    tasks = _tasks(rng, model, data, size=(20.0 if violent else 1.0) * (1 + phase))
    c = len(jacobians)
    return Standing(
        model=model,
        actuated=slice(6, robot_dofs),
        mass_matrix=M,
        bias=np.array(data.nle),
        contact_jacobian=J,
        contact_drift=0.2 * rng.normal(size=len(J)),
        wrench_map=np.kron(np.eye(c), facet_map()),
        task_hessian=tasks[0],
        task_gradient=tasks[1],
        torque_limit=rng.uniform(60.0, 250.0, robot_dofs - 6),
        collision_rows=rng.normal(size=(12, model.nv)) * (rng.uniform(size=(12, model.nv)) < 0.3),
    )


def _contact_jacobian(
    model: pin.Model, data: pin.Data, name: str, held: int, normal: tuple[float, float, float]
) -> Array:
    """Return the Jacobian of a link relative to the world (feet) or the held object (hands)."""
    link = model.getJointId(name)
    to_contact = pin.SE3(
        pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), np.array(normal)).matrix(), np.zeros(3)
    )
    J = pin.getJointJacobian(model, data, link, pin.ReferenceFrame.LOCAL)
    if normal[1]:
        X = data.oMi[link].actInv(data.oMi[held]).toActionMatrix()
        J = J - X @ pin.getJointJacobian(model, data, held, pin.ReferenceFrame.LOCAL)
    return np.asarray(to_contact.toActionMatrixInverse() @ J)


def _tasks(rng: np.random.Generator, model: pin.Model, data: pin.Data, *, size: float) -> tuple[Array, Array]:
    """Sum w |J a - target|^2 over CoM, posture and two links with weights from 1e-2 to 1e4."""
    nv = model.nv
    H, g = 1e-4 * np.eye(nv), np.zeros(nv)
    jacobians = [np.array(pin.jacobianCenterOfMass(model, data)), np.eye(nv)]
    for name in ("larm_wrist2_joint", "chest2_joint"):
        jacobians.append(pin.getJointJacobian(model, data, model.getJointId(name), pin.ReferenceFrame.LOCAL))
    for J, weight in zip(jacobians, (1e4, 1e-2, 1e2, 1e3), strict=True):
        target = size * rng.normal(size=len(J))
        H += weight * J.T @ J
        g -= weight * J.T @ target
    return H, g


def force_hessian(parts: Standing) -> Array:
    """Regularise wrenches, not multipliers: W'W 1e-5 has rank 6 of 16 a contact; 1e-9 keeps it invertible."""
    W = parts.wrench_map
    return 1e-5 * W.T @ W + 1e-9 * np.eye(W.shape[1])


def full_problem(seed: int, *, violent: bool = True, phase: float = 0.0) -> QPProblem:
    """Return the QP in (acceleration, torque, multipliers): equalities are dynamics and no-slip rows."""
    s = standing(seed, violent=violent, phase=phase)
    nv, na, nf = len(s.bias), len(s.torque_limit), s.wrench_map.shape[1]
    S = np.zeros((nv, na))
    S[s.actuated] = np.eye(na)
    forces = s.contact_jacobian.T @ s.wrench_map
    n = nv + na + nf
    H = np.zeros((n, n))
    H[:nv, :nv] = s.task_hessian
    H[nv : nv + na, nv : nv + na] = 1e-6 * np.eye(na)
    H[nv + na :, nv + na :] = force_hessian(s)
    A = np.zeros((nv + len(s.contact_drift), n))
    A[:nv] = np.hstack([s.mass_matrix, -S, -forces])
    A[nv:, :nv] = s.contact_jacobian
    C = np.hstack([s.collision_rows, np.zeros((len(s.collision_rows), n - nv))])
    reach = np.concatenate([np.full(nv, 300.0), s.torque_limit])
    problem = QPProblem.of(
        H,
        np.concatenate([s.task_gradient, np.zeros(n - nv)]),
        A=A,
        b=np.concatenate([-s.bias, -s.contact_drift]),
        C=C,
        l=np.full(len(C), -8.0),
        lb=np.concatenate([-reach, np.zeros(nf)]),
        ub=np.concatenate([reach, np.full(nf, 2000.0)]),
        labels=_labels(s, full=True),
    )
    problem.relaxable_rows[:] = True
    return problem


def reduced_problem(seed: int, *, violent: bool = True, phase: float = 0.0) -> QPProblem:
    """Return the QP in (acceleration, multipliers): the actuated dynamics rows became torque limits."""
    s = standing(seed, violent=violent, phase=phase)
    nv, nf = len(s.bias), s.wrench_map.shape[1]
    dynamics = np.hstack([s.mass_matrix, -s.contact_jacobian.T @ s.wrench_map])
    passive = np.r_[0:6, s.actuated.stop : nv]
    torque, bias = dynamics[s.actuated], s.bias[s.actuated]
    H = 1e-6 * torque.T @ torque
    H[:nv, :nv] += s.task_hessian
    H[nv:, nv:] += force_hessian(s)
    g = 1e-6 * torque.T @ bias
    g[:nv] += s.task_gradient
    slip = np.hstack([s.contact_jacobian, np.zeros((len(s.contact_drift), nf))])
    collision = np.hstack([s.collision_rows, np.zeros((len(s.collision_rows), nf))])
    k = len(collision)
    problem = QPProblem.of(
        0.5 * (H + H.T),
        g,
        A=np.vstack([dynamics[passive], slip]),
        b=np.concatenate([-s.bias[passive], -s.contact_drift]),
        C=np.vstack([torque, collision]),
        l=np.concatenate([-s.torque_limit - bias, np.full(k, -8.0)]),
        u=np.concatenate([s.torque_limit - bias, np.full(k, np.inf)]),
        lb=np.concatenate([np.full(nv, -300.0), np.zeros(nf)]),
        ub=np.concatenate([np.full(nv, 300.0), np.full(nf, 2000.0)]),
        labels=_labels(s, full=False),
    )
    problem.relaxable_rows[len(torque) :] = True
    return problem


def torques(parts: Standing, x: Array) -> Array:
    """Return the joint torques of x of the reduced problem, (na,) [N m]."""
    nv = len(parts.bias)
    effort = parts.mass_matrix @ x[:nv] + parts.bias - parts.contact_jacobian.T @ (parts.wrench_map @ x[nv:])
    return np.asarray(effort[parts.actuated])


def _labels(s: Standing, *, full: bool) -> Labels:
    dofs = tuple(
        name if joint.nv == 1 else f"{name} {axis}"
        for name, joint in list(zip(s.model.names, s.model.joints, strict=True))[1:]
        for axis in range(joint.nv)
    )
    motors = dofs[s.actuated]
    contacts = tuple(name.removesuffix("_wrist2_joint") for name in CONTACTS)
    passive = dofs[:6] + dofs[s.actuated.stop :]
    torque = LabelBlock("torque", "N m", motors, limit="torque limit")
    forces = tuple(LabelBlock(f"multiplier {c}", "N", tuple(map(str, range(16)))) for c in contacts)
    acceleration = LabelBlock("acceleration", "rad/s^2", dofs, limit="acceleration limit")
    collision = LabelBlock("collision", "m/s^2", tuple(f"pair {i}" for i in range(len(s.collision_rows))))
    return Labels(
        variables=(acceleration, *((torque,) if full else ()), *forces),
        equalities=(
            LabelBlock("dynamics", "N m", dofs if full else passive),
            *(LabelBlock(f"no slip {c}", "m/s^2", AXES) for c in contacts),
        ),
        inequalities=(collision,) if full else (LabelBlock("torque limit", "N m", motors), collision),
    )
