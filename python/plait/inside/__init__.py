"""All of the package besides the modules that users import."""
