"""Python's own branches and loops as those of programs."""
