"""How what users give becomes what problems see: labels, and tasks in long form."""
