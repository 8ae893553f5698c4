"""How what users give becomes what problems see: the task of each row in long form."""
