"""Schema of a scenario's `turns`: several characters that move one limb in turns, as in the game of Twister."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.limits import Within
from multi_qp_scene.schema.common import Distance, Duration, Friction, Seed
from multi_qp_scene.schema.plan import PaceSpec


class PlayerSpec(StrictModel):
    """One player. Its initial posture is its nominal posture.

    Attributes:
        limbs: name of the player's surface at the end of each limb, by a name for the limb.
    """

    limbs: dict[str, str] = Field(min_length=1)


class TurnsSpec(StrictModel):
    """Players in turn: limb and colour are random, the contact planner computes the step, other players are obstacles.

    If there is no feasible step, another limb or colour is drawn.

    Attributes:
        players: players by the name of the subsystem, in the order of their turns.
        colors: full names of the surfaces of each colour, or patterns with `*`.
        count: number of turns.
        friction: Coulomb coefficient of the surfaces.
        margin: distance of the centre of mass from the edge of its support region [m].
        clearance: minimum distance from obstacles of the environment [m].
        apart: minimum distance from other players [m].
        budget: CPU time for planning a turn [s]; afterwards no further step is drawn.
        seed: seed of the random numbers; `${seed}` is the run's `--seed`.
        pace: timing of the steps.
    """

    players: dict[str, PlayerSpec] = Field(min_length=1)
    colors: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=1)
    count: Annotated[int, Field(ge=1), Within("samples")] = 8
    friction: Friction = 0.7
    margin: Distance = 0.015
    clearance: Distance = 0.003
    apart: Distance = 0.03
    budget: Duration = 5.0
    seed: Seed = 0
    pace: PaceSpec = PaceSpec()
