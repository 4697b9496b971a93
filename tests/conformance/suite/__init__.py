"""The conformance suite: README.md in the folder above says how it is made."""
