"""What users meet when they look for a name: names of other libraries, suggestions, docstrings, tracebacks."""
