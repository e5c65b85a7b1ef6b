"""Configuration files: YAML with line numbers, parameter substitution and validation against models.

Example::

    problems = Problems()
    document = YamlDocument.load(path)
    data = substitute(document, {"box.mass": 5.0}, problems)
    scenario = validate(document, data, ScenarioFile, problems)
    problems.raise_if_any()
"""

from __future__ import annotations

from multi_qp_scene.problems import Problems
from multi_qp_scene.strict_model import StrictModel
from multi_qp_scene.substitution import ParameterValue, evaluate, substitute
from multi_qp_scene.validation import validate
from multi_qp_scene.yaml_document import YamlDocument

__all__ = ["ParameterValue", "Problems", "StrictModel", "YamlDocument", "evaluate", "substitute", "validate"]
