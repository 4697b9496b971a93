// The interface between compiled kernels and the emulator: the calls that the shim and the compiler
// put into kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// A kernel that a compiled text declares in `emulated_kernels`, which ends with a null name.
struct EmulatedKernel {
  const char* name;
  void (*call)(void** parameters);
  const unsigned* sizes;       // bytes of the parameters
  const unsigned* alignments;  // alignment of each parameter
  int parameters;
  int most_threads;  // the bound in __launch_bounds__; 0: not stated
  char* shared;      // static shared memory that it declares,
  char* shared_end;
  char* common_shared;  // and that functions of the text declare
  char* common_shared_end;
};

// The accesses that -fsanitize=thread and -fsanitize=alignment note.
void emulated_nothing();
void emulated_read1(void* address);
void emulated_read2(void* address);
void emulated_read4(void* address);
void emulated_read8(void* address);
void emulated_read16(void* address);
void emulated_write1(void* address);
void emulated_write2(void* address);
void emulated_write4(void* address);
void emulated_write8(void* address);
void emulated_write16(void* address);
void emulated_unaligned_read2(void* address);
void emulated_unaligned_read4(void* address);
void emulated_unaligned_read8(void* address);
void emulated_unaligned_read16(void* address);
void emulated_unaligned_write2(void* address);
void emulated_unaligned_write4(void* address);
void emulated_unaligned_write8(void* address);
void emulated_unaligned_write16(void* address);
void emulated_read_range(void* address, size_t bytes);
void emulated_write_range(void* address, size_t bytes);
void emulated_misaligned(void* data, void* address);
void* emulated_memcpy(void* to, const void* from, size_t bytes);
void* emulated_memset(void* to, int value, size_t bytes);

// Indices, packed: x in 31 bits, y and z in 16 each.
unsigned long long emulated_thread_index();
unsigned long long emulated_block_index();
unsigned long long emulated_block_sizes();
unsigned long long emulated_grid_sizes();

// Barriers and exchanges of a warp. A mode of a shuffle: 0 a lane, 1 up, 2 down, 3 exclusive or; of
// a vote: 0 the ballot.
int emulated_barrier(int vote, int predicate);
void emulated_warp_barrier(unsigned mask);
unsigned long long emulated_shuffle(unsigned mask, unsigned long long value, int mode, int operand,
                                    int width);
unsigned emulated_vote(unsigned mask, int predicate);
unsigned emulated_active_mask();

// The operations of atomics.
enum EmulatedAtomic {
  kAtomicAdd,
  kAtomicMax,
  kAtomicMin,
  kAtomicOr,
  kAtomicAnd,
  kAtomicXor,
  kAtomicExchange,
  kAtomicCompare
};
int emulated_atomic_int(int* address, int operation, int value, int compare);
unsigned emulated_atomic_unsigned(unsigned* address, int operation, unsigned value,
                                  unsigned compare);
unsigned long long emulated_atomic_long(unsigned long long* address, int operation,
                                        unsigned long long value, unsigned long long compare);
float emulated_atomic_float(float* address, int operation, float value);
double emulated_atomic_double(double* address, int operation, double value);

void emulated_trap();
void emulated_assert(const char* text, const char* file, int line);
long long emulated_clock();
double emulated_erfinv(double x);
double emulated_erfcinv(double x);
double emulated_erfcx(double x);
double emulated_normcdfinv(double x);
extern char emulated_dynamic_shared[];

}  // extern "C"
#pragma GCC visibility pop
