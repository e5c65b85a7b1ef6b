"""Subscriptions that reject, count and report malformed messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from multi_qp_ros.health import Health
from multi_qp_ros.raw_messages import read_message
from multi_qp_scene.errors import MultiQpError

#: Largest accepted message [B]. Its deserialised objects take about a hundred times as much memory.
LARGEST_MESSAGE = 8 * 1024 * 1024


def subscribe(
    node: Any,
    health: Health,
    message_type: Any,
    topic: str,
    take: Callable[[Any], None],
    qos: Any,
    *,
    read: Callable[[bytes], Any] | None = None,
) -> Any:
    """Subscribe to a topic, and return the subscription.

    Args:
        node: the subscribing node.
        health: diagnostics of the node; counts and reports rejected messages.
        message_type: type of the topic.
        topic: name of the topic.
        take: called with each valid message. A ValueError or MultiQpError rejects the message.
        qos: quality of service.
        read: converts a serialised message to the argument of `take`, or raises ValueError; `read_message` if None.
    """
    make = partial(read_message, message_type) if read is None else read

    def callback(data: bytes) -> None:
        try:
            if len(data) > LARGEST_MESSAGE:
                raise ValueError(f"{len(data)} bytes, at most {LARGEST_MESSAGE} are read")
            take(make(data))
        except (ValueError, MultiQpError) as error:
            health.refuse(topic, str(error))
        except KeyboardInterrupt:  # the process ends; the executor would log it as an error
            pass

    return node.create_subscription(message_type, topic, callback, qos, raw=True)


def read_json(text: str) -> dict[str, Any]:
    """Return the JSON object in a text.

    Raises:
        ValueError: when it is not JSON, or not an object.
    """
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"expected a JSON object, got {type(content).__name__}")
    return content
