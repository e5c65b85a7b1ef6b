"""Simulation: backends, the run loop, its log and its report."""

from multi_qp_simulator.backend import Backend, Outcome
from multi_qp_simulator.integrator import Integrator
from multi_qp_simulator.log import Log
from multi_qp_simulator.runner import BACKENDS, Run, RunResult, make_backend

__all__ = ["BACKENDS", "Backend", "Integrator", "Log", "Outcome", "Run", "RunResult", "make_backend"]
