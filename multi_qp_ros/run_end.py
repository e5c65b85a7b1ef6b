"""Publication of the report at the end of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from std_msgs.msg import String


def publish_report(node: Any, publisher: Any, report: dict[str, Any], *, well: bool, file: str) -> bool:
    """Publish the report of a run, log its result and write it to a file.

    Args:
        node: node of the run.
        publisher: publisher of the report.
        report: report of the run.
        well: whether all goals were reached.
        file: path of the file; empty: none. Failures are logged.

    Returns:
        Whether no file was requested or it was written.
    """
    text = json.dumps(report, indent=2, allow_nan=False)
    publisher.publish(String(data=text))
    node.get_logger().info(f"{report['ended']}; {'' if well else 'not '}all goals were reached")
    if not file:
        return True
    try:
        Path(file).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        node.get_logger().error(f"cannot write the report: {error}")
        return False
    return True
