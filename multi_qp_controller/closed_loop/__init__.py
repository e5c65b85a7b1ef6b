"""Closed-loop components around the QP: state estimate, delay prediction, joint impedance."""
