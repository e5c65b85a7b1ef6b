"""ROS interface of the control stack: messages, parameters, diagnostics, markers and the table of nodes.

`node_table`, `topics`, `rviz_config`, `gazebo_files` and `state_assembly` need no ROS; everything else imports
rclpy or message packages.
"""
