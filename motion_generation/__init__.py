"""Motion generation: contact sequences, plans and goals compiled to states of the controller's state machine."""
