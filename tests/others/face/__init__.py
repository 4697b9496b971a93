"""NumPy's interface for Plait, shared by the adapters of the suites."""
