"""Union of models by their key `type`, to which models can be added from outside."""

from __future__ import annotations

from typing import Any, Union, get_args

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from multi_qp_scene.errors import ArgumentError


class TaggedUnion:
    """Metadata of an `Annotated` type: the value is one of the models, selected by its key `type`.

    Attributes:
        models: the models by the value of `type`.
        users: models with fields of this type, parts of others first; they are built again for a new member.
    """

    discriminator = "type"

    def __init__(self, *models: type[BaseModel]) -> None:
        self.models: dict[str, type[BaseModel]] = {}
        self.users: list[type[BaseModel]] = []
        for model in models:
            self._add(model)

    def add(self, model: type[BaseModel]) -> None:
        """Add a model, before a file is loaded that contains it; adding it again has no effect.

        Raises:
            ArgumentError: when the model has no key `type: Literal["..."]`, or another one has the same value of it.
        """
        self._add(model)
        self.rebuild()

    def rebuild(self) -> None:
        """Build the users again with the present members."""
        for user in self.users:  # the schemas of users that contain each other are all discarded first
            if "__pydantic_core_schema__" in vars(user):
                del user.__pydantic_core_schema__
        for user in self.users:
            user.model_rebuild(force=True)

    def _add(self, model: type[BaseModel]) -> None:
        field = model.model_fields.get(self.discriminator)
        tags = () if field is None else get_args(field.annotation)
        if len(tags) != 1 or not isinstance(tags[0], str):
            raise ArgumentError(f'{model.__name__}: expected a key `type: Literal["..."]` with one name')
        if self.models.setdefault(tags[0], model) is not model:
            raise ArgumentError(f"{model.__name__}: the type '{tags[0]}' is {self.models[tags[0]].__name__} already")

    @property
    def annotation(self) -> Any:
        """The union as a type."""
        return Union[tuple(self.models.values())]  # noqa: UP007  (of a number of members known at run time)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the present members."""
        choices = {tag: handler.generate_schema(model) for tag, model in self.models.items()}
        return core_schema.tagged_union_schema(choices, discriminator=self.discriminator)
