"""Base class of the specifications of motion generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.name_of import check_names
from multi_qp_scene.schema.settings import Setting

if TYPE_CHECKING:
    from multi_qp_scene.checks import Key, ScenarioChecker


class GeneratorSpec(StrictModel):
    """Base class of the specifications of motion generators.

    A subclass has a key `type: Literal[...]`. It names what it owns, and checks the names that it refers to.

    Attributes:
        type: selects this type of generator.
    """

    @property
    def owned_contacts(self) -> tuple[str, ...]:
        """Names of the contacts that the generator makes and breaks; they are no contacts of the state."""
        return ()

    @property
    def settings(self) -> dict[str, Setting]:
        """Numbers that a user may change while the generator runs, by name."""
        return {}

    def check(self, scenario: ScenarioChecker, key: Key) -> None:
        """Check the names in this specification, and report unknown ones at places below its own."""
        check_names(self, scenario, key)
