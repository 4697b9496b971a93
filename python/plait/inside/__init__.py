"""What the package consists of besides the modules that users import."""
