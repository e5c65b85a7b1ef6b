"""Parametric robot and object models: numbers in, URDF, meshes and model files out."""
