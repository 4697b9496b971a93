"""The conformance suite; README.md in the folder above describes it."""
