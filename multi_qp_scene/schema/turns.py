"""Schema of a scenario's `turns`: several characters that move one limb by turns, as in the game of Twister."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import NonNegative, Positive
from multi_qp_scene.schema.plan import PaceSpec


class PlayerSpec(StrictModel):
    """Who plays. The posture in which a player stands at the beginning is the one that it likes best.

    Attributes:
        limbs: name of the player's surface at the end of each limb, by a name for the limb.
    """

    limbs: dict[str, str] = Field(min_length=1)


class TurnsSpec(StrictModel):
    """Players in turn: limb and colour are drawn at random, the contact planner finds the step, others are obstacles.

    Where there is no step for what was drawn, another limb or colour is drawn.

    Attributes:
        players: by the name of the subsystem, in the order of their turns.
        colors: full names of the surfaces of each colour, or patterns with `*`.
        count: how many turns are taken.
        friction: Coulomb coefficient of the surfaces.
        margin: distance of the centre of mass from the edge of its support region [m].
        clearance: distance kept to what does not move and is not touched [m].
        apart: distance kept to other players [m].
        budget: time of the processor for a turn [s]; when it is over nothing else is drawn.
        seed: of what is drawn; `${seed}` is the run's `--seed`.
        pace: how fast it is gone through.
    """

    players: dict[str, PlayerSpec] = Field(min_length=1)
    colors: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=1)
    count: Annotated[int, Field(ge=1)] = 8
    friction: Positive = 0.7
    margin: NonNegative = 0.015
    clearance: NonNegative = 0.003
    apart: NonNegative = 0.03
    budget: Positive = 5.0
    seed: int = 0
    pace: PaceSpec = PaceSpec()
