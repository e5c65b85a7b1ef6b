"""ROS interface of the control stack: messages, parameters, diagnostics, markers and the table of nodes.

`node_table`, `topic_names`, `rviz_config`, `gazebo_files` and `state_assembly` need no ROS; everything else imports
rclpy or message packages.
"""
