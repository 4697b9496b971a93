"""Operations on whole models: containers, states, parametrizations, adapters, quantization."""
