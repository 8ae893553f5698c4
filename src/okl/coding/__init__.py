"""The numbers that problems use for labels, and for tasks in long form."""
