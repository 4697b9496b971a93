// The calls that -fsanitize=thread and -fsanitize=alignment put before the accesses of kernels.
#include <cstring>
#include <string>

#include "tests/cuda_emulator/abi/kernel.h"
#include "tests/cuda_emulator/device/block.h"
#include "tests/cuda_emulator/device/checks.h"

using emulator::AccessKind;
using emulator::running;

namespace {

template <AccessKind kKind>
inline void check_aligned(void* address, size_t bytes, const void* code) {
  if (!running.checks) return;
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    emulator::check_alignment(address, bytes, code);
  emulator::check_access(address, bytes, kKind, code);
}

template <AccessKind kKind>
inline void check(void* address, size_t bytes, const void* code) {
  if (running.checks && bytes) emulator::check_access(address, bytes, kKind, code);
}

// As GCC describes a place in the source, and a type, to -fsanitize=alignment.
struct DescribedType {
  uint16_t kind, info;
  char name[1];
};

struct DescribedAccess {
  const char* file;
  uint32_t line, column;
  const DescribedType* type;
  unsigned char alignment_exponent, kind;
};

}  // namespace

void emulated_nothing() {}

void emulated_read1(void* address) {
  check_aligned<AccessKind::read>(address, 1, __builtin_return_address(0));
}
void emulated_read2(void* address) {
  check_aligned<AccessKind::read>(address, 2, __builtin_return_address(0));
}
void emulated_read4(void* address) {
  check_aligned<AccessKind::read>(address, 4, __builtin_return_address(0));
}
void emulated_read8(void* address) {
  check_aligned<AccessKind::read>(address, 8, __builtin_return_address(0));
}
void emulated_read16(void* address) {
  check_aligned<AccessKind::read>(address, 16, __builtin_return_address(0));
}
void emulated_write1(void* address) {
  check_aligned<AccessKind::write>(address, 1, __builtin_return_address(0));
}
void emulated_write2(void* address) {
  check_aligned<AccessKind::write>(address, 2, __builtin_return_address(0));
}
void emulated_write4(void* address) {
  check_aligned<AccessKind::write>(address, 4, __builtin_return_address(0));
}
void emulated_write8(void* address) {
  check_aligned<AccessKind::write>(address, 8, __builtin_return_address(0));
}
void emulated_write16(void* address) {
  check_aligned<AccessKind::write>(address, 16, __builtin_return_address(0));
}

void emulated_unaligned_read2(void* address) {
  check<AccessKind::read>(address, 2, __builtin_return_address(0));
}
void emulated_unaligned_read4(void* address) {
  check<AccessKind::read>(address, 4, __builtin_return_address(0));
}
void emulated_unaligned_read8(void* address) {
  check<AccessKind::read>(address, 8, __builtin_return_address(0));
}
void emulated_unaligned_read16(void* address) {
  check<AccessKind::read>(address, 16, __builtin_return_address(0));
}
void emulated_unaligned_write2(void* address) {
  check<AccessKind::write>(address, 2, __builtin_return_address(0));
}
void emulated_unaligned_write4(void* address) {
  check<AccessKind::write>(address, 4, __builtin_return_address(0));
}
void emulated_unaligned_write8(void* address) {
  check<AccessKind::write>(address, 8, __builtin_return_address(0));
}
void emulated_unaligned_write16(void* address) {
  check<AccessKind::write>(address, 16, __builtin_return_address(0));
}

void emulated_read_range(void* address, size_t bytes) {
  check<AccessKind::read>(address, bytes, __builtin_return_address(0));
}
void emulated_write_range(void* address, size_t bytes) {
  check<AccessKind::write>(address, bytes, __builtin_return_address(0));
}

void* emulated_memcpy(void* to, const void* from, size_t bytes) {
  check<AccessKind::read>(const_cast<void*>(from), bytes, __builtin_return_address(0));
  check<AccessKind::write>(to, bytes, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}

void* emulated_memset(void* to, int value, size_t bytes) {
  check<AccessKind::write>(to, bytes, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}

void emulated_misaligned(void* data, void* address) {
  if (!running.checks) return;
  const auto& access = *static_cast<const DescribedAccess*>(data);
  const size_t alignment = size_t{1} << access.alignment_exponent;
  const std::string file = access.file ? access.file : "";
  emulator::report("misaligned",
                   "misaligned: " + emulator::thread_text(running.thread) + " accesses a " +
                       access.type->name + " at an address that is " +
                       std::to_string(reinterpret_cast<uintptr_t>(address) % alignment) +
                       " past a multiple of " + std::to_string(alignment) + " (" +
                       file.substr(file.rfind('/') + 1) + ":" + std::to_string(access.line) + ")",
                   nullptr, CUDA_ERROR_MISALIGNED_ADDRESS);
  emulator::stop_kernel();
}
