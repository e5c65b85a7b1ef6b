"""Console output of planned turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contact_planner.turn_planner import TurnSequence

from multi_qp_cli.output import Console, figures_table


def print_turns(name: str, sequence: TurnSequence) -> None:
    """Print planned turns."""
    console = Console()
    verdict = "complete" if sequence.complete else sequence.reason
    longest = max((turn.seconds for turn in sequence.turns), default=0.0)
    console.print(f"[bold]{name}[/bold]: {len(sequence.turns)} turns; {verdict}  (at most {1e3 * longest:.0f} ms each)")
    columns = "", "player", "limb", "goes to", "x [m]", "y [m]", "draws"
    table = figures_table(columns, "player", "limb", "goes to", box=None, header_style="dim")
    for number, turn in enumerate(sequence.turns, 1):
        contact = turn.plan.stances[-1].contacts[turn.limb]
        x, y = contact.pose.translation[:2]
        place = (contact.other or "", f"{x:.3f}", f"{y:.3f}")
        table.add_row(str(number), turn.player, turn.limb, *place, str(turn.draws))
    console.print(table)
