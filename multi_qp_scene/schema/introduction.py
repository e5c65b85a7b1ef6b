"""Hand-written introductions of the sections of `docs/scenario_format.md`; the lists of keys are generated."""

SCENARIOS = """\
# Scenario and model files

Generated from the schema by `python -m multi_qp_scene.schema.reference > docs/scenario_format.md`; do not edit.

A scenario is one YAML file with the scene, a state machine and goals. It refers to model files, which add to a URDF
what the URDF format does not have. `multi-qp check FILE` reports all errors in both, with file, line and key.

- YAML 1.2 core schema: `yes`, `no`, `on`, `off` are text, `1e-3` is a number.
- SI units and radians throughout. The world has z up; the shipped floor is at z = 0.
- Names of the scene are `<subsystem>/<name>`: links (`box/box_link`), surfaces (`humanoid/left_palm`), joints
  (`humanoid/R_KNEE_P`). Names of subsystems contain no `/` and no blanks.
- `${name}` is the value of a parameter, `${seed}` the run's seed. Arithmetic is allowed: `${2 * box.mass + 1}`. `$${`
  stands for a literal `${`.
- Numbers have plausible ranges and files a maximum size; both can be widened: [limits](#limits).
- Numbers in parentheses, as (33), are equations of [Vaillant2015](references.md); [qp.md](qp.md) has the formulas.

## A complete scenario

A humanoid stands on the floor and shifts its weight over its left foot in one second; the run ends half a second later.

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

Each key below has its type, its default (*required* where there is none) and its meaning.

## The scenario file
"""

MODELS = """\
## The model file

`config/models/*.yaml`, or a file of your own beside its URDF. [models.md](models.md) describes the shipped models.
"""

LIMITS = """\
## Limits

Files, meshes and options are refused if they are too large to be read within some seconds and 1 GB, or if numbers are
implausible, such as a mass of 1e12 kg. The environment variable `MULTI_QP_LIMITS` widens ranges so that they include
the given values, for all commands, nodes and scripts. A file cannot widen them.

```bash
MULTI_QP_LIMITS="friction=50, mesh_bytes=5e8" multi-qp run my_scene.yaml
```
"""
