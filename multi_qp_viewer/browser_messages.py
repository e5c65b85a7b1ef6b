"""Validation of messages from a page: types, sizes, ranges and identifiers, before viser decodes them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
import viser

#: Largest message [bytes]; valid messages are far smaller.
LARGEST_MESSAGE = 1 << 14
#: Largest coordinate [m], angle or size in pixels; valid ones are far smaller. The comparison also excludes NaN.
LARGEST_NUMBER = 1e5

Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=256)]
Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Vector: TypeAlias = tuple[Number, Number, Number]
Quaternion: TypeAlias = tuple[Number, Number, Number, Number]


class _Message(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """Base of all accepted messages."""


class _Value(msgspec.Struct, forbid_unknown_fields=True):
    value: bool | Number | Name


class _WidgetUpdate(_Message, tag="GuiUpdateMessage"):
    uuid: Name
    updates: _Value


class _HandleUpdate(_Message, tag="TransformControlsUpdateMessage"):
    name: Name
    wxyz: Quaternion
    position: Vector
    owner: Name = ""


class _HandleGrasp(_Message, tag="TransformControlsDragStartMessage"):
    name: Name
    owner: Name = ""


class _HandleRelease(_Message, tag="TransformControlsDragEndMessage"):
    name: Name
    owner: Name = ""


class _Camera(_Message, tag="ViewerCameraMessage"):
    wxyz: Quaternion
    position: Vector
    fov: Number
    near: Number
    far: Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
    image_height: Number
    image_width: Number
    look_at: Vector
    up_direction: Vector


class _Echo(_Message, tag="LocalStorageGetItemResponseMessage"):
    value: Name | None
    error: Name | None
    request_uuid: Name


class Validator:
    """Validator of messages against the present widgets and handles.

    All other message types of viser (uploads, a public link to the page, script results, ...) are refused.
    """

    def __init__(self) -> None:
        """Accept only messages without a widget until `serve` sets the server."""
        self._server: viser.ViserServer | None = None
        self._decoder = msgspec.msgpack.Decoder(
            _WidgetUpdate | _HandleUpdate | _HandleGrasp | _HandleRelease | _Camera | _Echo
        )

    def serve(self, server: viser.ViserServer) -> None:
        """Set the server whose widgets and handles are accepted."""
        self._server = server

    def fault(self, raw: str | bytes) -> str | None:
        """Return the defect of a message, None if it is valid."""
        if isinstance(raw, str):
            return "text instead of binary data"
        try:
            message = self._decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return f"malformed message: {str(error)[:100]}"
        match message:
            case _WidgetUpdate(uuid=uuid, updates=_Value(value=value)):
                return self._widget_fault(uuid, value)
            case _HandleUpdate() | _HandleGrasp() | _HandleRelease():
                return self._handle_fault(message)
        return None

    def _widget_fault(self, uuid: str, value: bool | float | str) -> str | None:
        # viser has no public look-up of a widget by identifier; its version is pinned.
        widget = None if self._server is None else self._server.gui._gui_input_handle_from_uuid.get(uuid)
        match widget:
            case viser.GuiButtonHandle():
                valid = value is True
            case viser.GuiCheckboxHandle():
                valid = isinstance(value, bool)
            case viser.GuiSliderHandle(min=least, max=most, step=step):
                # The page rounds to steps, and the end of the run may have changed meanwhile.
                valid = isinstance(value, float) and least - step <= value <= most + step
            case viser.GuiNumberHandle(min=least, max=most):
                valid = (
                    isinstance(value, float) and (least is None or least <= value) and (most is None or value <= most)
                )
            case viser.GuiTextHandle():
                valid = isinstance(value, str)
            case viser.GuiDropdownHandle(options=options) | viser.GuiButtonGroupHandle(options=options):
                valid = value in options
            case _:
                return "unknown widget"
        if not valid or widget.disabled:
            return f"value outside the range of the widget '{widget.label}'"
        return None

    def _handle_fault(self, message: _HandleUpdate | _HandleGrasp | _HandleRelease) -> str | None:
        handles = {} if self._server is None else self._server.scene._handle_from_transform_controls_name
        if message.owner or message.name not in handles:
            return "unknown handle"
        if isinstance(message, _HandleUpdate) and abs(sum(x * x for x in message.wxyz) - 1.0) > 1e-3:
            return "rotation that is no unit quaternion"
        return None
