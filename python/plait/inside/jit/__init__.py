"""Recording functions once: their arguments, host code and results."""
