"""The hand-written beginnings of `docs/scenario_format.md`; the rest of that page is generated."""

SCENARIOS = """\
# Scenario and model files

Generated from the schema by `python -m multi_qp_scene.schema.reference > docs/scenario_format.md`; do not edit.

A scenario is one YAML file: what is there, what happens, and what must be reached. It names model files, each of which
says what the URDF beside it does not. `multi-qp check FILE` reports every mistake in both at once, with file, line and
key.

- YAML 1.2 core schema: `yes`, `no`, `on`, `off` are text, `1e-3` is a number.
- SI units and radians throughout. The world has z up; the shipped floor is at z = 0.
- Names of the scene are `<subsystem>/<name>`: links (`box/box_link`), surfaces (`humanoid/left_palm`), joints
  (`humanoid/R_KNEE_P`). Names of subsystems hold no `/` and no blanks.
- `${name}` is the value of a parameter, `${seed}` the run's seed. Arithmetic is allowed: `${2 * box.mass + 1}`. `$${`
  stands for a literal `${`.
- Numbers in parentheses, as (33), are equations of [Vaillant2015](references.md); [qp.md](qp.md) has the formulas.

## A complete scenario

A humanoid stands on the floor, shifts its weight over its left foot in one second, and is done half a second later.

```yaml
description: a humanoid shifts its weight over its left foot

subsystems:
  humanoid:
    model: humanoid
    posture: half_sitting
    place: {surfaces: [left_sole, right_sole], onto: ground/floor}

environment:
  ground: {model: ground}

contacts:
  left_foot: {surfaces: [humanoid/left_sole, ground/floor]}
  right_foot: {surfaces: [humanoid/right_sole, ground/floor]}

tasks:
  posture: {type: posture, subsystem: humanoid}
  upright: {type: pose, frame: humanoid/torso, axes: [roll, pitch, yaw], target: {rpy: [0, 0, 0]}, weight: 10}

initial_state: shift
states:
  shift:
    contacts: [left_foot, right_foot]
    timeout: 5
    tasks:
      balance:
        type: com
        subsystems: [humanoid]
        axes: [x, y]
        target: {over_contacts: [left_foot], duration: 1}
        weight: 100
    transitions:
      - {to: done, when: {type: task, task: balance, error: 0.01}}
  done:
    contacts: [left_foot, right_foot]
    hold: 0.5
    tasks:
      balance: {type: com, subsystems: [humanoid], axes: [x, y], target: {over_contacts: [left_foot]}, weight: 100}

goals:
  shifted: {type: state, state: done}
```

Save it as `shift.yaml`, then `multi-qp check shift.yaml` and `multi-qp run shift.yaml`.

The tables below give each key, what it takes, its default (*required* where there is none) and its meaning.

## The scenario file
"""

MODELS = """\
## The model file

`config/models/*.yaml`, or a file of your own beside its URDF. [models.md](models.md) describes the shipped models.
"""
