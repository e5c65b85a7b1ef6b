"""Progress bar on standard error, if that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from multi_qp_cli.output import Console


@contextmanager
def run_progress(name: str) -> Iterator[Callable[[float, str], None] | None]:
    """Show a progress bar; yield its update by completed fraction and state, None without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("[bold]{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda fraction, state: bar.update(task, completed=fraction, description=f"{name}: {state}")


def synthesis_progress(update: Callable[[float, str], None] | None) -> Callable[[str, int, float], None] | None:
    """Return what a synthesis calls in each iteration, to update a progress bar."""
    if update is None:
        return None
    from contact_invariant.contact_schedule import ITERATIONS
    from contact_invariant.synthesis import STAGES

    names = [stage.name for stage in STAGES]

    def progress(stage: str, number: int, cost: float) -> None:
        if stage not in names:  # the refinement with the full model, after all stages
            update(number / ITERATIONS, f"{stage}, iteration {number}, cost {cost:.3g}")
            return
        k = names.index(stage)
        update((k + number / STAGES[k].iterations) / len(names), f"{stage}, iteration {number}, cost {cost:.3g}")

    return progress
