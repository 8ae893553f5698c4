"""What ``okl demo`` shows: where relations pay, and where they do not."""
