"""Line contacts of joined points: places in the middle of an edge that stand for the points at its ends."""

from __future__ import annotations

from collections.abc import Sequence

import pinocchio as pin

from contact_invariant.character import Character
from contact_invariant.contact_schedule import Span
from multi_qp_scene.arrays import Array
from multi_qp_scene.scene import Scene


class LineContacts:
    """Frames at which joined points of one link bear in the refinement while both touch.

    They are on the line through both points, at a share of its half length from its middle. Contact rows are those of
    the points themselves, while the centre of pressure stays within that share, as in a patch: a foot that bears on one
    end of its front edge rolls over it.
    """

    def __init__(self, scene: Scene, character: Character, model: pin.Model, share: float) -> None:
        """Add the frames to a model of the scene.

        Args:
            scene: with the surfaces.
            character: its effectors.
            model: to which frames are added.
            share: of the half length, at which the frames are.
        """
        self._frames = [scene.surfaces[e.surface].frame_id for e in character.effectors]
        self._inner: dict[int, tuple[int, int]] = {}
        self._far = 0.5 * (1.0 - share)
        for i, effector in enumerate(character.effectors):
            if not effector.joined:
                continue
            j = character.index(effector.joined)
            one, other = (model.frames[self._frames[k]] for k in (i, j))
            if one.parentJoint != other.parentJoint or not effector.point:
                continue
            for k, a, b in ((i, one, other), (j, other, one)):
                X = pin.SE3(a.placement.rotation, self._between(a.placement.translation, b.placement.translation))
                frame = pin.Frame(f"{a.name}/inner", a.parentJoint, a.parentFrame, X, pin.FrameType.OP_FRAME)
                self._inner[k] = model.addFrame(frame, False), j if k == i else i

    def _between(self, own: Array, other: Array) -> Array:
        return (1.0 - self._far) * own + self._far * other

    def _partner(self, span: Span, active: Sequence[Span]) -> Span | None:
        if span.effector not in self._inner:
            return None
        return next((other for other in active if other.effector == self._inner[span.effector][1]), None)

    def frame(self, span: Span, active: Sequence[Span]) -> int:
        """Return the frame at which an effector bears, with the contacts of a node."""
        return self._frames[span.effector] if self._partner(span, active) is None else self._inner[span.effector][0]

    def place(self, span: Span, active: Sequence[Span], k: int, gains: Array) -> Array:
        """Return the place of this frame of a point at a node, see `Span.led_at`, (3,) [m]."""
        own, other = span.led_at(k, gains, point=True).translation, self._partner(span, active)
        return own if other is None else self._between(own, other.led_at(k, gains, point=True).translation)
