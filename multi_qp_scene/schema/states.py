"""Schema of the state machine of a scenario: states, transitions and goals of the run."""

from __future__ import annotations

from multi_qp_scene.config_file import StrictModel
from multi_qp_scene.schema.common import Duration, Time
from multi_qp_scene.schema.conditions import CONDITION_SPECS, AnyConditionSpec, CommandConditionSpec
from multi_qp_scene.schema.generators import GENERATOR_SPECS, AnyGeneratorSpec
from multi_qp_scene.schema.name_of import ContactName, StateName
from multi_qp_scene.schema.tasks import TASK_SPECS, TaskSpec


class TransitionSpec(StrictModel):
    """Transition to another state; the first transition of a state whose condition is true is taken.

    Attributes:
        to: name of the next state.
        when: the condition.
    """

    to: StateName
    when: AnyConditionSpec


class StateSpec(StrictModel):
    """One state: contact set, tasks (in addition to those of the scenario), motion generators and transitions.

    A state without transitions is final. `tasks: {name: null}` removes a task of the scenario in this state. Tasks of
    the scenario continue across transitions; tasks of a state start when it is entered. A contact that stays active
    keeps its contact position.

    Attributes:
        description: one line of text.
        contacts: names of the active contacts.
        tasks: tasks by name; one of the same name as a task of the scenario replaces it.
        generators: motion generators by name; each makes and breaks contacts of its own, which are not in `contacts`,
            and gives the references of its own tasks at every tick.
        transitions: transitions in order of precedence.
        timeout: maximum duration; the run fails when the state lasts longer [s].
        hold: in a final state: duration before the run is complete [s].
    """

    description: str = ""
    contacts: list[ContactName] = []
    tasks: dict[str, TaskSpec | None] = {}
    generators: dict[str, AnyGeneratorSpec] = {}
    transitions: list[TransitionSpec] = []
    timeout: Duration | None = None
    hold: Time = 0.0

    @property
    def all_contacts(self) -> tuple[str, ...]:
        """Names of its contacts and of those that its generators own."""
        return (*self.contacts, *(name for spec in self.generators.values() for name in spec.owned_contacts))

    @property
    def commands(self) -> tuple[str, ...]:
        """The user commands in the conditions of its transitions."""
        parts = [part for transition in self.transitions for part in transition.when.elements]
        return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, CommandConditionSpec)))


CONDITION_SPECS.users += [TransitionSpec, StateSpec]
TASK_SPECS.users.append(StateSpec)
GENERATOR_SPECS.users.append(StateSpec)
