// Fourier transforms of rows on the CPU. Inside of plait/cpu.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>

namespace plait {

using Complex = std::complex<double>;

// Of one length and direction, not scaled. Of length 1 or more. A copy has its own memory to work
// in; one object serves one thread.
class Fourier {
 public:
  Fourier(int64_t length, bool inverse);
  Fourier(const Fourier& other);
  Fourier& operator=(const Fourier&) = delete;
  ~Fourier();

  void run(const Complex* in, Complex* out);  // not in place

 private:
  struct Library;
  class Chirp;

  std::unique_ptr<Library> library_;  // where the length has small factors only
  std::unique_ptr<Chirp> chirp_;      // else
};

// Made before, or now. Any threads may ask; whoever runs it makes a copy.
std::shared_ptr<const Fourier> fourier_of(int64_t length, bool inverse);

}  // namespace plait
