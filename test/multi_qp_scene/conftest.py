"""Files of a small valid scene, to be modified one error at a time: an arm, a crate, a floor."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from multi_qp_cli.main import main

_INERTIA = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'

FILES = {
    "arm.urdf": f"""\
        <robot name="arm">
          <link name="base"/>
          <link name="upper">
            <inertial><origin xyz="0.1 0 0"/><mass value="1"/>{_INERTIA}</inertial>
          </link>
          <link name="hand">
            <inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>{_INERTIA}</inertial>
            <collision><geometry><sphere radius="0.03"/></geometry></collision>
          </link>
          <joint name="shoulder" type="revolute">
            <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
            <limit lower="-2" upper="2" effort="50" velocity="5"/>
          </joint>
          <joint name="elbow" type="revolute">
            <parent link="upper"/><child link="hand"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
            <limit lower="-2" upper="2" effort="30" velocity="5"/>
          </joint>
        </robot>
        """,
    "arm.yaml": """\
        urdf: arm.urdf
        root: fixed
        postures:
          bent: {shoulder: 0.5, elbow: 0.5}
        surfaces:
          palm: {type: planar, link: hand, xyz: [0.1, 0, 0], size: [0.05, 0.05]}
        effort_limits:
          strong: {shoulder: 80, elbow: 60}
        """,
    "crate.urdf": f"""\
        <robot name="crate">
          <link name="crate">
            <inertial><mass value="2"/>{_INERTIA}</inertial>
            <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
          </link>
        </robot>
        """,
    "crate.yaml": """\
        urdf: crate.urdf
        surfaces:
          bottom: {type: planar, link: crate, xyz: [0, 0, -0.1], rpy: [3.14159265359, 0, 0], size: [0.2, 0.2]}
          side: {type: planar, link: crate, xyz: [-0.1, 0, 0], size: [0.2, 0.2]}
        """,
    "floor.urdf": '<robot name="floor"><link name="slab"/></robot>\n',
    "floor.yaml": """\
        urdf: floor.urdf
        root: fixed
        surfaces:
          top: {type: planar, link: slab, size: [4, 4]}
          spot: {type: point, link: slab}
        """,
    "scene.yaml": """\
        description: an arm beside a crate
        parameters:
          load: {default: 2, min: 0.5, max: 10, unit: kg}
        dt: 0.01
        duration: 1
        subsystems:
          arm: {model: arm.yaml, posture: bent}
          crate:
            model: crate.yaml
            mass: ${load}
            place: {surfaces: [bottom], onto: floor/top, xy: [1, 0]}
        environment:
          floor: {model: floor.yaml}
        contacts:
          rest: {surfaces: [crate/bottom, floor/top], friction: 0.6}
          touch: {surfaces: [arm/palm, crate/side]}
        collisions:
          self_collisions: [arm]
          pairs:
            - {bodies: [arm/*, crate/crate]}
        tasks:
          posture: {type: posture, subsystem: arm}
        initial_state: wait
        states:
          wait:
            contacts: [rest]
            tasks:
              reach: {type: pose, frame: arm/palm, axes: [x, z], target: {position: [0.4, 0, -0.1], duration: 0.1}}
            transitions:
              - {to: end, when: {type: reference_done, task: reach}}
          end:
            contacts: [rest]
        goals:
          done: {type: state, state: end}
        """,
}


class Folder:
    """The files, and runs of `multi-qp` in their folder.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys
        for name, text in FILES.items():
            (path / name).write_text(textwrap.dedent(text))

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text, which must exist."""
        text = (self.path / name).read_text()
        assert old in text, f"{old!r} is not in {name}"
        (self.path / name).write_text(text.replace(old, new, 1))

    def line_of(self, name: str, text: str) -> int:
        """Return the number of the first line that contains a text."""
        lines = (self.path / name).read_text().splitlines()
        return next(number for number, line in enumerate(lines, start=1) if text in line)

    def multi_qp(self, *arguments: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error of a command line."""
        try:
            status = main(arguments)
        except SystemExit as end:  # raised by argparse
            status = int(end.code or 0)
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    def refused(self, *arguments: str) -> list[str]:
        """Run `multi-qp`, assert exit status 2 without a traceback, and return the reported errors."""
        status, out, err = self.multi_qp(*(arguments or ("check", "scene.yaml")))
        assert status == 2, f"exit status {status}\n{out}{err}"
        assert out == "" and "Traceback" not in err
        headline, *lines = err.splitlines()
        assert headline.startswith("multi-qp")
        if not lines:
            return [headline.partition(": ")[2]]
        assert headline == f"multi-qp: {len(lines)} problem{'s' if len(lines) > 1 else ''}:"
        return lines

    def blames(self, name: str, old: str, new: str, blamed: str, key: str, message: str) -> None:
        """Edit a file and assert one error: the file, the line that contains `blamed`, the key, a message."""
        self.edit(name, old, new)
        (problem,) = self.refused()
        assert problem.startswith(f"{name}:{self.line_of(name, blamed)}: {key}: {message}"), problem


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Folder:
    """Return the valid files, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capsys)
