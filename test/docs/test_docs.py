"""The documentation is true: its code runs, its links and file names lead somewhere, its commands and keys exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from multi_qp_cli.com import SUBCOMMANDS
from multi_qp_cli.main import COMMANDS, main
from multi_qp_controller.formulations import FORMULATIONS
from multi_qp_controller.qp import solver_names
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: The blocks of the viewer's page are excerpts: they speak of a run that they do not show.
RUNNABLE = [page for page in PAGES if "```python" in page.read_text("utf-8") and page.name != "viewer.md"]
FOLDERS = "config|docs|multi_qp_\\w+|test|tools|urdf|\\.ci|launch|benchmarks|examples"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def names(pages: list[Path]) -> list[str]:
    return [page.name for page in pages]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=names(RUNNABLE))
def test_the_python_blocks_of_a_page_run_in_order(page, tmp_path):
    script = tmp_path / "page.py"  # not named as a page, which may have the name of a package
    script.write_text("\n\n".join(blocks(page, "python")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_to_files(page):
    targets = re.findall(r"(?:\]\(|src=\")([^)\"#]+)", text_of(page))
    local = {target for target in targets if "://" not in target and not target.startswith("mailto:")}
    missing = {t for t in local if not (page.parent / t).exists()}
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_files_named_are_there(page):
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    named = set(re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", prose))
    to_be_written = {name for name in named if "proxqp_sparse" in name}
    assert not {name for name in named - to_be_written if not list(ROOT.glob(name.rstrip("/")))}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_nothing_local_is_named(page):
    assert not re.search(r"/work\b|/tmp\b|/root\b|DESIGN\.md", text_of(page))


def test_citations_are_in_the_references():
    sources = [path for folder in ROOT.glob("multi_qp_*") for path in folder.rglob("*.py")]
    cited = {key for path in [*sources, *PAGES] for key in re.findall(r"\[([A-Z][a-z]+[12]\d{3})\]", text_of(path))}
    entries = "".join(text_of(ROOT / "docs" / name) for name in ("references.md", "models.md"))
    assert not {key for key in cited if not re.search(rf"^- (\*\*)?\[{key}\]", entries, re.MULTILINE)}


def test_the_commands_of_the_pages_have_these_options(capsys):
    helps = {}
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        helps[command] = capsys.readouterr().out
    for subcommand in (*SUBCOMMANDS, "stairs"):  # of `multi-qp com`, and any contact sequence
        with pytest.raises(SystemExit):
            main(["com", subcommand, "--help"])
        helps["com"] += capsys.readouterr().out
    used = re.findall(r"multi-qp (\w+)([^\n`#]*)", "\n".join(map(text_of, PAGES)))
    assert {command for command, _ in used} <= set(helps)
    for command, rest in used:
        for option in re.findall(r"(?<!\S)--[\w-]+", rest):
            assert option in helps[command], (command, option)


def test_the_readme_lists_every_option_of_run(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    options = set(re.findall(r"--[\w-]+", capsys.readouterr().out)) - {"--help"}
    assert options <= set(re.findall(r"--[\w-]+", text_of(ROOT / "README.md")))


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    pages = "\n".join(map(text_of, PAGES))
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", pages, re.MULTILINE)) <= targets


def test_pages_name_every_solver_and_formulation():
    page = text_of(ROOT / "docs" / "qp.md")
    assert all(f"`{name}`" in page for name in [*solver_names(), *FORMULATIONS])


def test_every_key_of_report_and_log_is_explained():
    page = text_of(ROOT / "docs" / "log_and_report.md")
    result = run_scenario(load_scenario("box"), duration=0.05)
    keys = [*result.report, *result.report["worst"], *result.report["qp"], *result.log.__dataclass_fields__]
    assert not [key for key in keys if not re.search(rf"\b{key}\b", page)]


@pytest.mark.slow
def test_the_conflict_of_the_qp_page_is_what_a_box_of_200_kg_gives():
    shown = set(re.findall(r"in conflict: (.*)", text_of(ROOT / "docs" / "qp.md")))
    result = run_scenario(load_scenario("box", parameters={"box.mass": 200.0}))
    assert not result.succeeded
    found = [row["row"] for row in result.report["failure"]["unreconciled"]["conflict"]]
    assert len(shown) == 8
    assert shown <= set(found)


def test_the_robot_of_the_scenario_page_runs(tmp_path, monkeypatch, capsys):
    page = ROOT / "docs" / "how_to_add_a_scenario.md"
    model, scenario = blocks(page, "yaml")
    (tmp_path / "arm.urdf").write_text(blocks(page, "xml")[0], encoding="utf-8")
    (tmp_path / "arm.yaml").write_text(model, encoding="utf-8")
    (tmp_path / "reach.yaml").write_text(scenario, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    commands = [line.split()[1:] for line in blocks(page, "console")[0].splitlines()]
    assert [command[0] for command in commands] == ["check", "run"]
    assert main(commands[0]) == 0
    assert main([*commands[1], "--headless"]) == 0, capsys.readouterr().out
