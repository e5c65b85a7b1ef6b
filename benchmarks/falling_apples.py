"""What falling apples touch in the scene `apples`: hands or forearms first, or head, neck or trunk.

python benchmarks/falling_apples.py --seeds 10
"""

from __future__ import annotations

import argparse
from typing import Any

from multi_qp_scene.scenario import load_scenario
from multi_qp_simulator.runner import run_scenario

#: Links that the hands keep free, and names in those of hands and forearms.
BODY = ("head", "neck_yaw_link", "torso", "chest_pitch_link", "shoulder")
ARMS = ("wrist", "elbow")


def touches(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return, for each apple that touched the humanoid, the time of its hardest touch of each link [s]."""
    found: dict[str, dict[str, float]] = {}
    for touch in report["touches"]:
        own = [one for one in touch["bodies"] if one.startswith("humanoid/")]
        apples = [one for one in touch["bodies"] if one.startswith("apple_")]
        if own and apples:
            time = touch["force_time"] if touch["force_time"] is not None else touch["overlap_time"]
            found.setdefault(apples[0].split("/")[0], {})[own[0].split("/")[1]] = time
    return found


def first(links: dict[str, float], parts: tuple[str, ...]) -> float:
    """Return the time of the first touch of links with one of these parts in their names [s], infinite for none."""
    times = [time for link, time in links.items() if any(part in link for part in parts)]
    return min(times, default=float("inf"))


def main() -> None:
    """Run the scene with and without sight; print a row a run and the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    for watch in (1, 0):
        apples = met = on_head = healthy = 0
        for seed in range(options.seeds):
            scenario = load_scenario("apples", parameters={"watch": watch}, seed=seed)
            result = run_scenario(scenario, backend="mujoco")
            found = touches(result.report)
            in_time = sum(first(links, ARMS) < first(links, BODY) for links in found.values())
            heads = sum("head" in links for links in found.values())
            apples, met, on_head = apples + len(found), met + in_time, on_head + heads
            healthy += result.succeeded
            problems = "; ".join(result.report["health"]["problems"])
            print(f"watch {watch} seed {seed}: {in_time} of {len(found)} in time, {heads} on the head. {problems}")
        print(
            f"watch {watch}: hands in time for {met} of {apples} apples, {on_head} touched the head, "
            f"{healthy} of {options.seeds} runs healthy",
            flush=True,
        )


if __name__ == "__main__":
    main()
