"""Parametric robot and object models that generate URDF, meshes and model files."""
