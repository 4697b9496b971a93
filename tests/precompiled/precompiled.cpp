// A target that precompiles a header has a source.
