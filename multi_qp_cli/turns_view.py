"""Console output of a planned game."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from contact_planner.game import Match

from multi_qp_cli.output import Console


def print_match(name: str, match: Match) -> None:
    """Print the turns of a game."""
    console = Console()
    verdict = "complete" if match.complete else match.reason
    longest = max((turn.seconds for turn in match.turns), default=0.0)
    console.print(f"[bold]{name}[/bold]: {len(match.turns)} turns; {verdict}  (at most {1e3 * longest:.0f} ms each)")
    table = Table(box=None, header_style="dim")
    for column in ("", "player", "limb", "goes to", "x [m]", "y [m]", "draws"):
        table.add_column(column, justify="right" if column in ("", "x [m]", "y [m]", "draws") else "left")
    for number, turn in enumerate(match.turns, 1):
        contact = turn.plan.stances[-1].contacts[turn.limb]
        x, y = contact.pose.translation[:2]
        place = (contact.other or "", f"{x:.3f}", f"{y:.3f}")
        table.add_row(str(number), turn.player, turn.limb, *place, str(turn.draws))
    console.print(table)
