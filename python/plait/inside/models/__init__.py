"""What is done with whole models: containers, states, parametrizations, adapters, quantization."""
