"""Packaging for colcon (ament_python) and pip alike; name and version come from package.xml."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
TOP_LEVEL_PACKAGES = (
    "multi_qp_scene",
    "contact_planner",
    "com_trajectory",
    "contact_invariant",
    "multi_qp_controller",
    "motion_generation",
    "walking",
    "modal_control",
    "upper_body",
    "multi_qp_viewer",
    "multi_qp_simulator",
    "multi_qp_ros",
    "multi_qp_cli",
)
DATA_FOLDERS = ("launch", "urdf", "config", "rviz")


def from_package_xml(tag):
    """Return the text of one element of package.xml."""
    return " ".join(ElementTree.parse(ROOT / "package.xml").getroot().findtext(tag).split())


def pinned(file_name):
    """Return the requirements of a file, without comments and references to other files."""
    lines = (line.split("#")[0].strip() for line in (ROOT / file_name).read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("-")]


def packages():
    """Return our top-level packages, as far as they exist, and everything below them; nothing else."""
    ours = [name + end for name in TOP_LEVEL_PACKAGES for end in ("", ".*")]
    return find_packages(str(ROOT), include=ours)


def launch_files():
    """Return launch/NAME.launch.py of all scenarios but `king`, written here: they differ from its file in the name."""
    folder = ROOT / "build" / "launch"
    folder.mkdir(parents=True, exist_ok=True)
    for scenario in sorted((ROOT / "config" / "scenarios").glob("[!.]*.yaml")):
        file = folder / f"{scenario.stem}.launch.py"
        if not (ROOT / "launch" / file.name).exists():
            text = (ROOT / "launch" / "king.launch.py").read_text("utf-8")
            file.write_text(text.replace("king", scenario.stem), "utf-8")
            yield str(file.relative_to(ROOT))


def data_files():
    """Return (folder of installation, files) for the data folders, the ament marker and package.xml."""
    share = Path("share") / NAME
    files = {
        Path("share/ament_index/resource_index/packages"): [f"resource/{NAME}"],
        share: ["package.xml", "LICENSE"],
    }
    for path in sorted(path for folder in DATA_FOLDERS for path in (ROOT / folder).rglob("*")):
        relative = path.relative_to(ROOT)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if path.is_file() and not hidden:
            files.setdefault(share / relative.parent, []).append(str(relative))
    files[share / "launch"] += launch_files()
    return [(str(folder), names) for folder, names in files.items()]


NAME = from_package_xml("name")

setup(
    name=NAME,
    version=from_package_xml("version"),
    description=from_package_xml("description"),
    author=from_package_xml("maintainer"),
    license=from_package_xml("license"),
    python_requires=">=3.11,<3.14",
    packages=packages(),
    package_data={"multi_qp_viewer": ["*.js"]},
    data_files=data_files(),
    install_requires=pinned("requirements.txt"),
    extras_require={
        "synthesis": pinned("requirements-synthesis.txt"),
        "cluster": pinned("requirements-cluster.txt"),
        "test": pinned("requirements-test.txt"),
        "ros": pinned("requirements-ros.txt"),
    },
    entry_points={
        "console_scripts": [
            "multi-qp = multi_qp_cli.entry:main",
            "controller_node = multi_qp_ros.start_node:controller_node",
            "contact_planner_node = multi_qp_ros.start_node:contact_planner_node",
            "com_trajectory_node = multi_qp_ros.start_node:com_trajectory_node",
            "simulator_node = multi_qp_ros.start_node:simulator_node",
            "viewer_node = multi_qp_ros.start_node:viewer_node",
        ]
    },
    zip_safe=False,
)
