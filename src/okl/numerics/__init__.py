"""Arrays of any namespace, threads, memory, and checks of numbers that users give."""
