// Numbers that are too small for their exponent, as f32 has them below 1.2e-38: a processor may
// take a hundred times as long for one. Gradients that vanish over many steps may be full of them.
//
//   const FlushDenormals flush;
//   train(model);  // they count as 0
#pragma once

namespace plait {

// While this lives, they count as 0 (or do not) in what the thread that made it computes, and those
// that help in its loops. Where a processor cannot do that, nothing changes. What is kept in f16 is
// computed in f32, which has those of f16 as usual numbers.
class FlushDenormals {
 public:
  explicit FlushDenormals(bool flush = true);
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  bool outer_;
};

// Of this thread.
bool flushes_denormals();
bool can_flush_denormals();

}  // namespace plait
