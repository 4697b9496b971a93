#include "plait/cpu/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include <kissfft.hh>

#include "plait/core/hash.h"
#include "plait/core/immortal.h"
#include "plait/cpu/recent_cache.h"

namespace plait {
namespace {

// The library takes n p operations for a prime factor p; beyond this, Bluestein's way is shorter.
constexpr int64_t kMostFactor = 31;

int64_t greatest_factor(int64_t n) {
  int64_t greatest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) greatest = p;
  }
  return std::max(greatest, n);
}

}  // namespace

struct Fourier::Library {
  kissfft<double> transform;
};

// Bluestein's: jk = (j² + k² - (k - j)²) / 2, so that with w[k] = e^(∓πi k² / n) the transform is a
// convolution, X[k] = w[k] Σ (x[j] w[j]) / w[k - j], which transforms of a handy length compute.
class Fourier::Chirp {
 public:
  Chirp(int64_t n, bool inverse)
      : n_(static_cast<size_t>(n)),
        padded_(std::bit_ceil(2 * n_ - 1)),
        forward_(padded_, false),
        backward_(padded_, true),
        chirp_(n_),
        kernel_(padded_),
        from_(padded_),
        to_(padded_) {
    const double sign = inverse ? 1 : -1, length = static_cast<double>(n);
    uint64_t square = 0;  // k² modulo 2 n
    for (size_t k = 0; k < n_; ++k) {
      chirp_[k] = std::polar(1.0, sign * std::numbers::pi * static_cast<double>(square) / length);
      square = (square + 2 * k + 1) % (2 * n_);
    }
    from_[0] = std::conj(chirp_[0]);
    for (size_t k = 1; k < n_; ++k) from_[k] = from_[padded_ - k] = std::conj(chirp_[k]);
    forward_.transform(from_.data(), kernel_.data());
    for (Complex& value : kernel_) value /= static_cast<double>(padded_);
  }

  void run(const Complex* in, Complex* out) {
    for (size_t k = 0; k < n_; ++k) from_[k] = in[k] * chirp_[k];
    std::fill(from_.begin() + static_cast<ptrdiff_t>(n_), from_.end(), Complex());
    forward_.transform(from_.data(), to_.data());
    for (size_t k = 0; k < padded_; ++k) to_[k] *= kernel_[k];
    backward_.transform(to_.data(), from_.data());
    for (size_t k = 0; k < n_; ++k) out[k] = from_[k] * chirp_[k];
  }

 private:
  size_t n_, padded_;
  kissfft<double> forward_, backward_;
  std::vector<Complex> chirp_, kernel_, from_, to_;
};

Fourier::Fourier(int64_t length, bool inverse) {
  if (greatest_factor(length) <= kMostFactor) {
    library_ =
        std::make_unique<Library>(Library{kissfft<double>(static_cast<size_t>(length), inverse)});
  } else {
    chirp_ = std::make_unique<Chirp>(length, inverse);
  }
}
Fourier::Fourier(const Fourier& other)
    : library_(other.library_ ? std::make_unique<Library>(*other.library_) : nullptr),
      chirp_(other.chirp_ ? std::make_unique<Chirp>(*other.chirp_) : nullptr) {}
Fourier::~Fourier() = default;

void Fourier::run(const Complex* in, Complex* out) {
  if (library_) {
    library_->transform.transform(in, out);
  } else {
    chirp_->run(in, out);
  }
}

namespace {

struct Key {
  int64_t length;
  bool inverse;
  friend bool operator==(const Key&, const Key&) = default;
};
struct HashOfKey {
  size_t operator()(const Key& key) const {
    return std::hash<int64_t>()(2 * key.length + (key.inverse ? 1 : 0));
  }
};

}  // namespace

std::shared_ptr<const Fourier> fourier_of(int64_t length, bool inverse) {
  static Immortal<RecentCache<Key, const Fourier, HashOfKey>> cache(size_t{32});
  return cache->find_or_make({length, inverse}, [](const Key& key) {
    return std::make_shared<const Fourier>(key.length, key.inverse);
  });
}

}  // namespace plait
