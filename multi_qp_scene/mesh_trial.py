"""Program that loads meshes with assimp, within limits, and writes the results.

It reads {"files": [...], "seconds": ..., "memory": ...} from standard input and writes a line of JSON per file:
{"count": vertices and faces, "furthest": largest coordinate, "unused": last vertices that no triangle has} or
{"error": ...}.
"""

import json
import os
import resource
import sys

import coal
import numpy as np


def _found(path: str) -> dict[str, object]:
    try:
        mesh = coal.MeshLoader().load(path, np.ones(3))
    except MemoryError:
        return {"error": "it takes too much memory"}
    except Exception as error:  # coal raises bare RuntimeErrors and ValueErrors, over several lines
        text = str(error).rpartition("message:")[2].partition("Hint:")[0]
        if "bad_alloc" in text:
            return {"error": "it takes more memory than the limit 'mesh_memory'"}
        return {"error": " ".join(text.split())[:300]}  # the message may contain the whole file
    if not isinstance(mesh, coal.BVHModelBase) or not mesh.num_vertices or not mesh.num_tris:
        return {"error": "it has no triangles"}
    vertices = np.asarray(mesh.vertices())
    corners = [(triangle[0], triangle[1], triangle[2]) for triangle in map(mesh.tri_indices, range(mesh.num_tris))]
    last = int(np.max(corners))
    if last >= len(vertices):
        return {"error": "a triangle refers to a vertex that does not exist"}
    return {
        "count": len(vertices) + len(corners),
        "furthest": float(np.abs(vertices).max()),
        "unused": len(vertices) - 1 - last,
    }


def main() -> None:
    """Load the meshes that standard input names."""
    request = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # assimp may print
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm", encoding="ascii") as sizes:
            present = int(sizes.read().split()[0]) * resource.getpagesize()
        most = present + int(request["memory"])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = int(request["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for path in request["files"]:
        answers.write(json.dumps(_found(path)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
