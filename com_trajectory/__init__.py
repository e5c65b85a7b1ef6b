"""Centre-of-mass trajectories through contact phases: 2PAC and its extensions.

Source: [Tonneau2018].
"""
