"""Verdict on the health of a run, from its report and the scenario's bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

from multi_qp_controller.contacts.contact_gap import ContactGap
from multi_qp_scene.schema.health import HealthSpec

#: Quantities of `worst` with a bound: key of the report, key of `health`, description, factor and unit of messages.
_BOUNDED = (
    ("contact_slip_m", "slip", "a contact slipped by", 1e3, "mm"),
    ("contact_twist_rad", "twist", "a contact turned by", 1e3, "mrad"),
    ("penetration_m", "overlap", "watched bodies overlapped by", 1e3, "mm"),
    ("torque_ratio", "torque", "torque / limit was", 1.0, ""),
    ("velocity_ratio", "velocity", "joint velocity / limit was", 1.0, ""),
    ("joint_limit_violation_rad", "joint_limits", "a joint was outside its limits by", 1e3, "mrad"),
)
#: Number of contacts, and of pairs of bodies, that are named.
MOST_NAMED = 5


def health_of(report: Mapping[str, Any], bounds: HealthSpec, *, outside_at_start: float = 0.0) -> dict[str, Any]:
    """Return `{healthy, problems}` of a run, the problems as sentences.

    Args:
        report: report of the run.
        bounds: bounds of the scenario.
        outside_at_start: violation of joint limits at the start, which the run may keep [rad].
    """
    problems = list(_problems(report, bounds, outside_at_start))
    return {"healthy": not problems, "problems": problems}


def _problems(report: Mapping[str, Any], bounds: HealthSpec, outside_at_start: float) -> Iterator[str]:
    if report["qp_failures"] > bounds.qp_failures:
        first = report["failure"]
        where = f", first at {first['time']:.3f} s in '{first['state']}'" if first else ""
        yield f"{report['qp_failures']} ticks without a QP solution as stated{where} (at most {bounds.qp_failures})"
    for key, name, what, factor, unit in _BOUNDED:
        value, bound = report["worst"][key], getattr(bounds, name)
        if name == "joint_limits":
            bound = max(bound, outside_at_start)
        if not value <= bound:  # also if it is not a number
            yield f"{what} {factor * value:.3g} {unit}".rstrip() + f" (at most {factor * bound:.3g})"
    opened = [made for made in report["contacts_made"] if made["open"]]
    for made in opened[:MOST_NAMED]:
        yield (
            f"contact '{made['contact']}' was made at {made['time']:.2f} s in '{made['state']}' with its surfaces "
            f"{ContactGap(made['gap_m'], made['angle_rad'])} (more than its tolerance)"
        )
    if len(opened) > MOST_NAMED:
        yield f"{len(opened) - MOST_NAMED} more contacts were made with their surfaces apart"
    for missed in report["contacts_missed"][:MOST_NAMED]:
        yield (
            f"contact '{missed['contact']}', planned from {missed['time']:.2f} to {missed['until']:.2f} s in "
            f"'{missed['state']}', was not made: nothing touched"
        )
    if len(report["contacts_missed"]) > MOST_NAMED:
        yield f"{len(report['contacts_missed']) - MOST_NAMED} more planned contacts were not made"
    lost = [one for one in report["lost_contacts"] if (one["impulse_of_weight"] or 0.0) > bounds.lost_impulse]
    for one in lost[:MOST_NAMED]:
        most = one["impulse_ns"] / one["impulse_of_weight"] * bounds.lost_impulse
        yield (
            f"active contact '{one['contact']}' bore nothing for {1e3 * one['duration']:.0f} ms from "
            f"{one['time']:.2f} s on in '{one['state']}', where the QP expected {one['impulse_ns']:.3g} N s "
            f"(at most {most:.3g})"
        )
    if len(lost) > MOST_NAMED:
        yield f"{len(lost) - MOST_NAMED} more active contacts bore nothing"
    deep = [touch for touch in report["touches"] if touch["overlap_m"] > bounds.overlap]
    for touch in deep[:MOST_NAMED]:
        first_body, second_body = touch["bodies"]
        yield (
            f"{first_body} was {1e3 * touch['overlap_m']:.3g} mm inside {second_body} at {touch['overlap_time']:.2f} s "
            f"in '{touch['overlap_state']}' (at most {1e3 * bounds.overlap:.3g})"
        )
    if len(deep) > MOST_NAMED:
        yield f"{len(deep) - MOST_NAMED} more pairs of bodies overlapped"
    hard = [touch for touch in report["touches"] if (touch["force_of_weight"] or 0.0) > bounds.touch_force]
    for touch in sorted(hard, key=lambda touch: -touch["force_of_weight"])[:MOST_NAMED]:
        first_body, second_body = touch["bodies"]
        force, most = touch["force_n"], touch["force_n"] / touch["force_of_weight"] * bounds.touch_force
        yield (
            f"{first_body} struck {second_body} with {force:.0f} N at {touch['force_time']:.2f} s "
            f"in '{touch['force_state']}' (at most {most:.0f})"
        )
    if len(hard) > MOST_NAMED:
        yield f"{len(hard) - MOST_NAMED} more pairs of bodies struck each other"
    for touch in report["touches"]:
        first_body, second_body = touch["bodies"]
        pairs = [(first_body, second_body), (second_body, first_body)]
        if any(fnmatch(a, one) and fnmatch(b, other) for one, other in bounds.untouched for a, b in pairs):
            force = f" with {touch['force_n']:.0f} N" if touch["force_n"] else ""
            yield f"{first_body} touched {second_body}{force}"
