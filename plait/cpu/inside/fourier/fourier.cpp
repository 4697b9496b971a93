#include "plait/cpu/inside/fourier/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "plait/core/hash.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr int64_t kMostColumn = 1 << 13;  // the work memory of longer columns exceeds the cache
constexpr int64_t kWork = 100'000;        // operations worth a thread

template <class T>
const cpu::FourierKernels<T>& kernels_of(CpuLevel level) {
  // Entries of levels that the machine does not support stay empty.
  static const auto table = [] {
    std::array<cpu::AllFourierKernels, kCpuLevelCount> levels;
    for (size_t i = 0; i <= static_cast<size_t>(best_cpu_level()) - 1; ++i) {
      cpu::kFourierKernels[i](levels[i]);
    }
    return levels;
  }();
  const cpu::AllFourierKernels& all = table[static_cast<size_t>(level) - 1];
  if constexpr (std::is_same_v<T, float>)
    return all.f32;
  else
    return all.f64;
}

// e^(-2πi k / n) for k < n.
std::complex<double> turn_of(int64_t k, int64_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n)));
}

template <class T>
Array scratch(int64_t count) {
  return Array::empty(dtype_of<T>(), {count});
}

// The last group overlaps the one before, so that all its lanes are used.
int64_t first_column(int64_t group, int64_t columns, int64_t lanes) {
  return std::max<int64_t>(0, std::min(group * lanes, columns - lanes));
}

// The radices of the passes; empty if a prime factor is too large.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  int64_t twos = std::countr_zero(static_cast<uint64_t>(n));
  n >>= twos;
  for (; twos >= 3 && twos != 4; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int64_t radix = 3; radix <= cpu::kMostRadix; radix += 2) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  if (n > 1) return {};
  return radices;
}

// Approximate cost of an element, in units of a load and a store.
double cost_of_element(std::span<const int64_t> radices) {
  double cost = 2;
  for (const int64_t radix : radices) {
    if (radix == 8) {
      cost += 2;
    } else if (radix % 2 == 0) {
      cost += 1.5;
    } else {
      cost += 1 + 0.5 * static_cast<double>(radix);
    }
  }
  return cost;
}

// The number of rows of the matrix into which a row is best reshaped; 1 if it is best left as it
// is.
int64_t best_rows(int64_t length, int64_t lanes) {
  const auto cost_of_columns = [lanes](int64_t size, int64_t columns) {
    return cost_of_element(radices_of(size)) *
           static_cast<double>(size * quotient_up(columns, lanes) * lanes);
  };
  double least = cost_of_columns(length, 1);
  int64_t best = 1;
  for (int64_t rows = 2; rows * rows <= length; ++rows) {
    if (length % rows != 0) continue;
    const int64_t columns = length / rows;
    const double cost = cost_of_columns(rows, columns) + cost_of_columns(columns, rows);
    if (cost <= least) {
      least = cost;
      best = rows;
    }
  }
  return best;
}

template <class T>
struct Passes {
  std::vector<std::vector<T>> tables;
  std::vector<cpu::FourierPass<T>> passes;

  explicit Passes(int64_t n) {
    int64_t count = n, stride = 1;
    for (const int64_t radix : radices_of(n)) {
      count /= radix;
      const T* turns = tables.emplace_back(turns_of(radix, count)).data();
      const T* cosines = tables.emplace_back(cosines_of(radix)).data();
      passes.push_back({radix, count, stride, turns, cosines});
      stride *= radix;
    }
  }

 private:
  static std::vector<T> turns_of(int64_t radix, int64_t count) {
    std::vector<T> turns;
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t k = 1; k < radix; ++k) {
        const std::complex<double> turn = turn_of(p * k, count * radix);
        turns.push_back(static_cast<T>(turn.real()));
        turns.push_back(static_cast<T>(turn.imag()));
      }
    }
    return turns;
  }
  static std::vector<T> cosines_of(int64_t radix) {
    std::vector<T> values(static_cast<size_t>(2 * radix));
    for (int64_t k = 0; k < radix; ++k) {
      const std::complex<double> turn = turn_of(k, radix);
      values[static_cast<size_t>(k)] = static_cast<T>(turn.real());
      values[static_cast<size_t>(radix + k)] = static_cast<T>(-turn.imag());
    }
    return values;
  }
};

}  // namespace

template <class T>
struct Fourier<T>::Whole {
  Passes<T> passes;
  int64_t length;

  explicit Whole(int64_t n) : passes(n), length(n) {}

  // Transforms any number of columns.
  void run(cpu::FourierColumns<T> job, const cpu::FourierKernels<T>& kernels) const {
    Array work = scratch<T>(4 * length * kernels.lanes);
    job.passes = passes.passes;
    job.length = length;
    job.work = work.writable_elements<T>().data();
    int64_t left = job.columns;
    for (; left > 0; left -= kernels.lanes) {
      job.columns = std::min(left, kernels.lanes);
      kernels.columns(job);
      job.from.at += kernels.lanes * job.from.apart;
      job.to.at += kernels.lanes * job.to.apart;
    }
  }
};

// Four-step algorithm: with j = j1 n2 + j2 and k = k1 + n1 k2, w^(jk) = w1^(j1 k1) w^(j2 k1) w2^(j2
// k2): transforms of length n1 along columns, multiplication by twiddle factors, transforms of
// length n2 along rows.
template <class T>
struct Fourier<T>::Split {
  int64_t n1, n2, lanes;
  Passes<T> first, second;
  int64_t fine_count, coarse_count;
  std::vector<T> turns;  // twiddle factors: for each group of columns the coarse ones, then the
                         // fine ones

  Split(int64_t rows, int64_t columns, int64_t lanes)
      : n1(rows),
        n2(columns),
        lanes(lanes),
        first(n1),
        second(n2),
        fine_count(std::max<int64_t>(1, std::lround(std::sqrt(n1)))),
        coarse_count(quotient_up(n1, fine_count)) {
    for (int64_t group = 0; group < quotient_up(n2, lanes); ++group) {
      const int64_t column = first_column(group, n2, lanes);
      for (int64_t a = 0; a < coarse_count; ++a) add_turns(column, a * fine_count);
      for (int64_t b = 0; b < fine_count; ++b) add_turns(column, b);
    }
  }

  void run(const std::complex<T>* from, std::complex<T>* to, bool inverse, T factor,
           const cpu::FourierKernels<T>& kernels) const {
    Array between = scratch<std::complex<T>>(n1 * n2);
    std::complex<T>* middle = between.writable_elements<std::complex<T>>().data();
    each_group(first, n1, n2, kernels, [&](cpu::FourierColumns<T>& job, int64_t group) {
      const int64_t column = first_column(group, n2, lanes);
      job.from = {from + column, n2, 1, inverse};
      job.to = {middle + column * n1, 1, n1, false};
      job.coarse = turns.data() + group * (coarse_count + fine_count) * 2 * lanes;
      job.fine = job.coarse + coarse_count * 2 * lanes;
      job.fine_count = fine_count;
    });
    each_group(second, n2, n1, kernels, [&](cpu::FourierColumns<T>& job, int64_t group) {
      const int64_t column = first_column(group, n1, lanes);
      job.from = {middle + column, n1, 1, false};
      job.to = {to + column, n1, 1, inverse};
      job.factor = factor;
    });
  }

 private:
  void add_turns(int64_t column, int64_t k) {
    for (const bool is_imaginary : {false, true}) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const std::complex<double> turn = turn_of((column + lane) * k % (n1 * n2), n1 * n2);
        turns.push_back(static_cast<T>(is_imaginary ? turn.imag() : turn.real()));
      }
    }
  }

  template <class Describe>
  void each_group(const Passes<T>& passes, int64_t length, int64_t columns,
                  const cpu::FourierKernels<T>& kernels, const Describe& describe) const {
    const int64_t cost = length * lanes * std::bit_width(static_cast<uint64_t>(length));
    parallel_for(quotient_up(columns, lanes), std::max<int64_t>(1, kWork / cost),
                 [&](int64_t begin, int64_t end) {
                   Array work = scratch<T>(4 * length * lanes);
                   for (int64_t group = begin; group < end; ++group) {
                     cpu::FourierColumns<T> job;
                     job.passes = passes.passes;
                     job.length = length;
                     job.columns = std::min(lanes, columns);
                     job.skipped = group * lanes - first_column(group, columns, lanes);
                     job.work = work.writable_elements<T>().data();
                     describe(job, group);
                     kernels.columns(job);
                   }
                 });
  }
};

// Bluestein's algorithm: jk = (j² + k² - (k - j)²) / 2, so with w[k] = e^(-πi k² / n) the transform
// is a convolution, X[k] = w[k] Σ (x[j] w[j]) / w[k - j], which is computed by transforms of a
// convenient length.
template <class T>
struct Fourier<T>::Chirp {
  using Number = std::complex<T>;

  std::shared_ptr<const Fourier<T>> padded;
  int64_t n, padded_length;
  std::vector<Number> chirp, kernel;

  explicit Chirp(int64_t length)
      : n(length), padded_length(std::bit_ceil(static_cast<uint64_t>(2 * length - 1))) {
    padded = fourier_of<T>(padded_length);
    std::vector<std::complex<double>> exact, wrapped(static_cast<size_t>(padded_length)),
        transformed(static_cast<size_t>(padded_length));
    int64_t square = 0;  // k² mod 2 n
    for (int64_t k = 0; k < n; ++k) {
      exact.push_back(turn_of(square, 2 * n));
      square = (square + 2 * k + 1) % (2 * n);
    }
    for (size_t k = 0; k < exact.size(); ++k) {
      wrapped[k] = std::conj(exact[k]);
      if (k > 0) wrapped[wrapped.size() - k] = wrapped[k];
    }
    fourier_of<double>(padded_length)
        ->transform_rows(wrapped.data(), 0, transformed.data(), 0, 1, false,
                         1 / static_cast<double>(padded_length));
    chirp.assign(exact.begin(), exact.end());
    kernel.assign(transformed.begin(), transformed.end());
  }

  void run(const Number* from, Number* to, bool inverse, T factor) const {
    Array spaces[2] = {scratch<Number>(padded_length), scratch<Number>(padded_length)};
    Number* a = spaces[0].template writable_elements<Number>().data();
    Number* b = spaces[1].template writable_elements<Number>().data();
    for (int64_t k = 0; k < n; ++k) {
      a[k] = product(inverse ? std::conj(from[k]) : from[k], chirp[static_cast<size_t>(k)]);
    }
    std::fill(a + n, a + padded_length, Number());
    padded->transform_rows(a, 0, b, 0, 1, false, 1);
    for (int64_t k = 0; k < padded_length; ++k)
      b[k] = product(b[k], kernel[static_cast<size_t>(k)]);
    padded->transform_rows(b, 0, a, 0, 1, true, factor);
    for (int64_t k = 0; k < n; ++k) {
      const Number value = product(a[k], chirp[static_cast<size_t>(k)]);
      to[k] = inverse ? std::conj(value) : value;
    }
  }

 private:
  static Number product(Number a, Number b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};

template <class T>
Fourier<T>::Fourier(int64_t length) : length_(length), kernels_(kernels_of<T>(cpu_level())) {
  if (length > 1 && radices_of(length).empty()) {
    chirp_ = std::make_unique<Chirp>(length);
  } else {
    const int64_t rows = best_rows(length, lanes());
    if (rows > 1) split_ = std::make_unique<Split>(rows, length / rows, lanes());
    if (!split_ || length <= kMostColumn) whole_ = std::make_unique<Whole>(length);
  }
  for (int64_t k = 1; k <= length / 2; k += cpu::kFoldBlock) {
    coarse_turns_.emplace_back(std::complex<double>(0, -1) * turn_of(k, 2 * length));
  }
  for (const bool is_imaginary : {false, true}) {
    for (int64_t i = 0; i < cpu::kFoldBlock; ++i) {
      const std::complex<double> turn = turn_of(i, 2 * length);
      fine_turns_.push_back(static_cast<T>(is_imaginary ? turn.imag() : turn.real()));
    }
  }
}

template <class T>
Fourier<T>::~Fourier() = default;

template <class T>
int64_t Fourier<T>::cost() const {
  return (chirp_ ? 6 : 1) * length_ * std::bit_width(static_cast<uint64_t>(length_));
}

template <class T>
int64_t Fourier<T>::least_rows() const {
  return std::max<int64_t>(1, kWork / cost());
}

template <class T>
void Fourier<T>::transform_columns(const std::complex<T>* from, std::complex<T>* to,
                                   int64_t columns, int64_t group, bool inverse, T factor) const {
  const int64_t first = first_column(group, columns, lanes());
  cpu::FourierColumns<T> job;
  job.columns = std::min(lanes(), columns);
  job.skipped = group * lanes() - first;
  job.from = {from + first, columns, 1, inverse};
  job.to = {to + first, columns, 1, inverse};
  job.factor = factor;
  whole_->run(job, kernels_);
}

template <class T>
void Fourier<T>::transform_rows(const std::complex<T>* from, int64_t from_apart,
                                std::complex<T>* to, int64_t to_apart, int64_t count, bool inverse,
                                T factor) const {
  if (chirp_) return chirp_->run(from, to, inverse, factor);
  if (split_ && (count == 1 || !whole_)) return split_->run(from, to, inverse, factor, kernels_);
  cpu::FourierColumns<T> job;
  job.columns = count;
  job.from = {from, 1, from_apart, inverse};
  job.to = {to, 1, to_apart, inverse};
  job.factor = factor;
  whole_->run(job, kernels_);
}

template <class T>
void Fourier<T>::unfold(const std::complex<T>* z, std::complex<T>* x, T factor) const {
  kernels_.unfold({length_, coarse_turns_.data(), fine_turns_.data()}, z, x, factor);
}
template <class T>
void Fourier<T>::fold(const std::complex<T>* x, std::complex<T>* z) const {
  kernels_.fold({length_, coarse_turns_.data(), fine_turns_.data()}, x, z);
}

namespace {

struct Key {
  int64_t length;
  CpuLevel level;
  friend bool operator==(const Key&, const Key&) = default;
};
struct HashOfKey {
  size_t operator()(const Key& key) const {
    return std::hash<int64_t>()(4 * key.length + static_cast<int64_t>(key.level));
  }
};

}  // namespace

template <class T>
std::shared_ptr<const Fourier<T>> fourier_of(int64_t length) {
  static Immortal<RecentCache<Key, const Fourier<T>, HashOfKey>> cache(size_t{32});
  return cache->find_or_make({length, cpu_level()}, [](const Key& key) {
    return std::make_shared<const Fourier<T>>(key.length);
  });
}

template class Fourier<float>;
template class Fourier<double>;
template std::shared_ptr<const Fourier<float>> fourier_of(int64_t);
template std::shared_ptr<const Fourier<double>> fourier_of(int64_t);

}  // namespace plait
