"""What a controller's node tells at the end of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from std_msgs.msg import String


def tell(node: Any, publisher: Any, report: dict[str, Any], *, well: bool, file: str) -> None:
    """Tell the report of a run: on its topic, in the log and, if its name is not empty, in a file.

    Args:
        node: whose run it was.
        publisher: of the report.
        report: as the judge of the run makes it.
        well: whether all goals were reached.
        file: to write; where that is not possible the log says so.
    """
    text = json.dumps(report, indent=2, allow_nan=False)
    publisher.publish(String(data=text))
    node.get_logger().info(f"{report['ended']}; {'' if well else 'not '}all goals were reached")
    if not file:
        return
    try:
        Path(file).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        node.get_logger().error(f"cannot write the report: {error}")
