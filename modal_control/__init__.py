"""Modal-space control [Jain2011]: tracking of a motion with a plan for a window of time, in modal coordinates."""
