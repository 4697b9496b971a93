// Functions that kernels call: indices, barriers, exchanges, atomics, and mathematics that the C
// library lacks.
#include <chrono>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/cuda_emulator/abi/kernel.h"
#include "tests/cuda_emulator/device/block.h"
#include "tests/cuda_emulator/device/checks.h"

using emulator::running;

namespace {

template <class T>
T combined(int operation, T old, T value, T compare) {
  switch (operation) {
    case kAtomicAdd: return static_cast<T>(old + value);
    case kAtomicMax: return old < value ? value : old;
    case kAtomicMin: return value < old ? value : old;
    case kAtomicExchange: return value;
    case kAtomicCompare: return old == compare ? value : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == kAtomicOr) return old | value;
    if (operation == kAtomicAnd) return old & value;
    if (operation == kAtomicXor) return old ^ value;
  }
  return old;
}

template <class T>
T changed(T* address, int operation, T value, T compare, const void* code) {
  if (running.checks) {
    emulator::check_alignment(address, sizeof(T), code);
    emulator::check_access(address, sizeof(T), emulator::AccessKind::atomic, code);
  }
  // Host threads may look at memory that is mapped for kernels.
  T old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  T next = combined(operation, old, value, compare);
  while (!__atomic_compare_exchange_n(address, &old, next, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
    next = combined(operation, old, value, compare);
  }
  return old;
}

template <class T>
T changed_floating(T* address, int operation, T value, const void* code) {
  if (running.checks) {
    emulator::check_alignment(address, sizeof(T), code);
    emulator::check_access(address, sizeof(T), emulator::AccessKind::atomic, code);
  }
  const T old = *address;
  *address = combined(operation, old, value, value);
  return old;
}

// Newton's method for f(x) = target from x, where the derivative is given.
template <class F, class D>
double solved(F&& f, D&& derivative, double target, double x) {
  for (int round = 0; round < 60; ++round) {
    const double step = (f(x) - target) / derivative(x);
    x -= step;
    if (std::fabs(step) <= 1e-16 * std::fabs(x)) break;
  }
  return x;
}

double erf_derivative(double x) { return 1.1283791670955126 * std::exp(-x * x); }

}  // namespace

unsigned long long emulated_thread_index() { return running.packed_thread; }
unsigned long long emulated_block_index() { return running.packed_block; }
unsigned long long emulated_block_sizes() {
  return emulator::packed(running.run->block.x, running.run->block.y, running.run->block.z);
}
unsigned long long emulated_grid_sizes() {
  return emulator::packed(running.run->grid.x, running.run->grid.y, running.run->grid.z);
}

int emulated_barrier(int vote, int predicate) { return emulator::wait_at_barrier(vote, predicate); }
void emulated_warp_barrier(unsigned mask) { emulator::warp_barrier(mask); }
unsigned long long emulated_shuffle(unsigned mask, unsigned long long value, int mode, int operand,
                                    int width) {
  return emulator::shuffle(mask, value, mode, operand, width);
}
unsigned emulated_vote(unsigned mask, int predicate) { return emulator::vote(mask, predicate); }
unsigned emulated_active_mask() { return 1u << (running.thread % emulator::kWarpSize); }

int emulated_atomic_int(int* address, int operation, int value, int compare) {
  // Sums wrap.
  if (operation == kAtomicAdd) {
    return static_cast<int>(changed(reinterpret_cast<unsigned*>(address), operation,
                                    static_cast<unsigned>(value), 0u, __builtin_return_address(0)));
  }
  return changed(address, operation, value, compare, __builtin_return_address(0));
}
unsigned emulated_atomic_unsigned(unsigned* address, int operation, unsigned value,
                                  unsigned compare) {
  return changed(address, operation, value, compare, __builtin_return_address(0));
}
unsigned long long emulated_atomic_long(unsigned long long* address, int operation,
                                        unsigned long long value, unsigned long long compare) {
  return changed(address, operation, value, compare, __builtin_return_address(0));
}
float emulated_atomic_float(float* address, int operation, float value) {
  return changed_floating(address, operation, value, __builtin_return_address(0));
}
double emulated_atomic_double(double* address, int operation, double value) {
  return changed_floating(address, operation, value, __builtin_return_address(0));
}

void emulated_trap() {
  emulator::report("trap", "trap: " + emulator::thread_text(running.thread) + " stops the kernel",
                   __builtin_return_address(0), CUDA_ERROR_LAUNCH_FAILED);
  emulator::stop_kernel();
}

void emulated_assert(const char* text, const char* file, int line) {
  emulator::report("assert",
                   std::string("assert(") + text + ") fails in " +
                       emulator::thread_text(running.thread) + " (" + file + ":" +
                       std::to_string(line) + ")",
                   __builtin_return_address(0), CUDA_ERROR_ASSERT);
  emulator::stop_kernel();
}

long long emulated_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double emulated_erfcinv(double x) {
  if (!(x > 0 && x < 2))
    return x == 0   ? std::numeric_limits<double>::infinity()
           : x == 2 ? -std::numeric_limits<double>::infinity()
                    : NAN;
  if (x > 1) return -emulated_erfcinv(2 - x);
  if (x > 0.5) return emulated_erfinv(1 - x);
  // In logarithms, Newton's method converges from a rough start in the far tail as well.
  const auto log_erfc = [](double y) { return std::log(std::erfc(y)); };
  const auto slope = [](double y) { return -erf_derivative(y) / std::erfc(y); };
  return solved(log_erfc, slope, std::log(x), std::sqrt(-std::log(x)) * 0.9);
}

double emulated_erfinv(double x) {
  if (!(std::fabs(x) < 1))
    return std::fabs(x) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : NAN;
  if (std::fabs(x) > 0.5) return std::copysign(emulated_erfcinv(1 - std::fabs(x)), x);
  if (x == 0) return x;
  return solved([](double y) { return std::erf(y); }, erf_derivative, x, x * 0.886);
}

double emulated_erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double square = 1 / (x * x);
  return 0.5641895835477563 / x * (1 - square / 2 * (1 - 1.5 * square * (1 - 2.5 * square)));
}

double emulated_normcdfinv(double x) { return -1.4142135623730951 * emulated_erfcinv(2 * x); }
