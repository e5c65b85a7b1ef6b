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
