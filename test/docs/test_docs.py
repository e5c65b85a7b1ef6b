"""The documentation is true: its code runs, its links and file names lead somewhere, its commands and keys exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from multi_qp_cli.com import SUBCOMMANDS
from multi_qp_cli.main import COMMANDS, main
from multi_qp_controller.qp.choice import FORMULATION_NAMES, SOLVER_NAMES
from multi_qp_scene import load_scenario
from multi_qp_simulator.runner import run_scenario

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


def prose_of(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the names that GitHub and the site give to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page to a file or heading that does not exist."""
    prose = re.sub(r"`[^`\n]+`", "", prose_of(page))
    broken = []
    for link in re.findall(r"(?<=\]\()[^)\s]+|(?<= src=\")[^\"]+", prose):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("page", LINKING, ids=names(LINKING))
def test_links_lead_to_files_and_headings(page):
    assert not broken_links(page)


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A title, here\n[a](#a-title-here) [b](page.md#a-title-here) [c](#none) [d](page.md#no) [e](no.md)\n"
    )
    assert broken_links(page) == ["#none", "page.md#no", "no.md"]


def test_every_page_is_in_the_navigation_of_the_site():
    listed = set(re.findall(r": ([\w/]+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]} <= listed


def test_the_site_and_the_code_pin_the_same_versions():
    pins = [
        dict(re.findall(r"^([\w.-]+)==(\S+)", text_of(ROOT / f"requirements{end}"), re.M))
        for end in (".lock", "-docs.txt")
    ]
    locked, docs = ({name.lower().replace("_", "-"): version for name, version in pin.items()} for pin in pins)
    assert docs
    assert not {name for name in docs if locked.get(name, docs[name]) != docs[name]}


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="installed by `make docs`")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    site = {path.relative_to(tmp_path / "site").as_posix(): path for path in (tmp_path / "site").rglob("*.html")}
    assert "multi-qp robustness" in site["cli.html"].read_text("utf-8")
    assert "multi_qp_controller.qp.solvers.daqp.Daqp" in site["api/multi_qp_controller.qp.solvers.html"].read_text(
        "utf-8"
    )
    loaded = re.compile(r"<(?:script|img|iframe)[^>]*src=\"?https?:|<link[^>]*rel=\"?stylesheet[^>]*href=\"?https?:")
    assert not [name for name, path in site.items() if loaded.search(path.read_text("utf-8"))]


def long_lines(page: Path) -> list[str]:
    """Return the lines of more than 120 characters that can be split.

    Printed output (`text` blocks) cannot, nor can a word that is longer itself: the address of a link.
    """
    text = re.sub(r"^```text$.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    return [line for line in text.splitlines() if len(line) > 120 and max(map(len, line.split())) <= 116]


@pytest.mark.parametrize("page", LINKING, ids=names(LINKING))
def test_lines_have_at_most_120_characters(page):
    assert not long_lines(page)


def test_a_long_line_is_found_in_prose_tables_and_code(tmp_path):
    page = tmp_path / "page.md"
    words, address = "word " * 25, f"https://{'a' * 120}"
    page.write_text(
        f"{words}\n| {words}|\n```python\n# {words}\n```\n    {words}\n"
        f"- [a link]({address})\n{address}\n```text\n{words}\n```\n{'a' * 120}\n"
    )
    assert [line.strip(" |#") for line in long_lines(page)] == [words.strip()] * 4


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
    subcommands = [("com", name) for name in (*SUBCOMMANDS, "stairs")]  # and any contact sequence
    for command, subcommand in (*subcommands, ("motion", "import"), ("motion", "lift")):
        with pytest.raises(SystemExit):
            main([command, subcommand, "--help"])
        helps[command] += capsys.readouterr().out
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
    assert all(f"`{name}`" in page for name in [*SOLVER_NAMES, *FORMULATION_NAMES])


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


GRASP = ROOT / "docs" / "first_grasp.md"


@pytest.fixture
def grasp(tmp_path, monkeypatch):
    """The files of the page of the first grasp, in the working folder."""
    named = re.findall(r"^`(\w+\.\w+)`:\n\n```\w+\n(.*?)```", text_of(GRASP), re.DOTALL | re.MULTILINE)
    assert [name for name, _ in named] == ["gripper.urdf", "gripper.yaml", "cube.urdf", "cube.yaml", "grasp.yaml"]
    for name, content in named:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("chosen", [[1, 3], pytest.param([0, 2], marks=pytest.mark.slow)])
def test_the_commands_of_the_first_grasp_succeed(grasp, capsys, chosen):
    commands = [line.split()[1:] for block in blocks(GRASP, "console") for line in block.splitlines()]
    assert [command[0] for command in commands] == ["show", "check", "run", "run"] and "mujoco" in commands[3]
    for number in chosen:
        assert main(commands[number]) == 0, capsys.readouterr().out


MISTAKES = re.findall(
    r"^\*\*(.*?)\*\*.*?```diff\n(.*?)```\n```text\n(.*?)```", text_of(GRASP), re.DOTALL | re.MULTILINE
)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "change", "messages"), MISTAKES, ids=[title for title, _, _ in MISTAKES])
def test_a_mistake_of_the_first_grasp_is_named(grasp, capsys, title, change, messages):
    before, after = ("".join(f"{line[1:]}\n" for line in change.splitlines() if line[0] == sign) for sign in "-+")
    changed = [file for file in grasp.iterdir() if before in file.read_text("utf-8")]
    assert len(changed) == 1, "the change fits one file"
    changed[0].write_text(changed[0].read_text("utf-8").replace(before, after), encoding="utf-8")
    backend = ["--backend", "mujoco"] if "MuJoCo" in title else []
    assert main(["run", "grasp.yaml", "--headless", *backend]) in (1, 2)
    printed = "".join(capsys.readouterr())
    said = " ".join(printed.split())
    assert [message for message in messages.splitlines() if message not in said] == [], said


@pytest.mark.slow
def test_the_tables_of_the_weights_page_are_what_its_block_prints(tmp_path):
    page = ROOT / "docs" / "weights_and_gains.md"
    (tmp_path / "page.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    printed = [row.strip("| ").split(" | ") for row in done.stdout.splitlines()]
    shown = [row.strip("| ").split(" | ") for row in re.findall(r"^\| \d.*", text_of(page), re.MULTILINE)]
    assert len(shown) == 12
    for is_cells, says_cells in zip(printed, shown, strict=True):
        for found, said in zip(is_cells, says_cells, strict=True):
            assert found == said or float(found.rstrip(" %")) == pytest.approx(float(said.rstrip(" %")), rel=0.1)


def question_rows() -> list[tuple[Path, str]]:
    """Return the rows of the tables "Which file answers which question", each with the folder in their title."""
    section = text_of(ROOT / "docs" / "architecture.md").partition("## Which file answers which question")[2]
    rows, folder = [], ROOT
    for line in section.splitlines():
        if line.startswith("### "):
            named = re.search(r"`([^`]*)`", line)
            folder = ROOT / named[1] if named else ROOT
        elif line.startswith("| ") and not line.startswith("| question"):
            rows.append((folder, line))
    return rows


def missing_in(folder: Path, row: str) -> list[str]:
    """Return the files of a row that do not exist, and the functions that none of its files defines."""
    missing, files, near = [], [], folder
    for name in re.findall(r"`([\w./]+)`", row.partition(" | ")[2]):
        if name.endswith((".py", "/")):
            place = next((base / name for base in (near, folder, ROOT) if (base / name).exists()), None)
            if place is None:
                missing.append(name)
            else:
                files.append(place)
                near = place.parent if place.is_file() else place
            continue
        code = "\n".join(text_of(file) for file in files if file.is_file())
        if not all(re.search(rf"^ *(?:def |class |self\.)?{part}\b", code, re.MULTILINE) for part in name.split(".")):
            missing.append(name)
    return missing


def test_files_and_functions_of_the_questions_exist():
    rows = question_rows()
    assert len(rows) > 80
    assert [name for row in rows for name in missing_in(*row)] == []


def test_a_missing_file_or_function_is_found():
    row = "| a question | `controller.py`: `Controller.step`, `Controller.no_step`; `none.py` |"
    assert missing_in(ROOT / "multi_qp_controller", row) == ["Controller.no_step", "none.py"]
