// Denormal numbers, in f32 those below 1.2e-38: a processor may take a hundred times as long for
// one. Gradients that vanish over many steps may be full of them.
//
//   const FlushDenormals flush;
//   train(model);  // they count as 0
#pragma once

namespace plait {

// While one exists, denormals are flushed to 0 (or not) in what its thread computes, and on the
// threads that help in its loops. No effect on processors without this mode. f16 is computed in
// f32, where the denormals of f16 are normal numbers.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool flush = true);
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  bool outer_;
};

bool flushes_denormals();  // on this thread

}  // namespace plait
