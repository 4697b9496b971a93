"""Help for users who look for a name: names of other libraries, suggestions, docstrings, tracebacks."""
