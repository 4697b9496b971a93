"""NumPy's face for Plait: what the adapters of the suites share."""
