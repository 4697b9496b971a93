#include "tests/cuda_emulator/device/fibers.h"

#include <new>

#include <sys/mman.h>

#ifndef __x86_64__
#error "the emulator switches stacks with instructions of x86-64"
#endif

// switch_stack(save, load): stores what a function must keep on the stack and its address in *save;
// continues at `load`.
extern "C" void plait_emulator_switch_stack(void** save, void* load);
asm(R"(
.text
.hidden plait_emulator_switch_stack
.globl plait_emulator_switch_stack
.type plait_emulator_switch_stack, @function
plait_emulator_switch_stack:
  push %r15
  push %r14
  push %r13
  push %r12
  push %rbx
  push %rbp
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %rbp
  pop %rbx
  pop %r12
  pop %r13
  pop %r14
  pop %r15
  ret
.size plait_emulator_switch_stack, . - plait_emulator_switch_stack
)");

namespace emulator {
namespace {

constexpr size_t kGuardBytes = 4096;

// An overflow of a stack faults in the page below it.
char* map_stacks(size_t count) {
  void* mapped = mmap(nullptr, count * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* stacks = static_cast<char*>(mapped);
  for (size_t k = 0; k < count; ++k) mprotect(stacks + k * kStackBytes, kGuardBytes, PROT_NONE);
  return stacks;
}

}  // namespace

Fibers& Fibers::all() {
  static Fibers* all = [] {
    auto* made = new Fibers;
    made->stacks = map_stacks(1024);
    return made;
  }();
  return *all;
}

void Fibers::start(int index, void (*body)()) {
  Fiber& fiber = fibers[index];
  // Stacks begin at different places of their pages: else all of them would share a few lines of
  // the cache.
  const size_t shift = static_cast<size_t>(index) * 320 % 8192;
  char* const end = stacks + (static_cast<size_t>(index) + 1) * kStackBytes - shift;
  auto** top = reinterpret_cast<void**>(end);
  // As after a call: the address where `body` would return to lies at a multiple of 16 plus 8.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(body);
  for (int k = 0; k < 6; ++k) *--top = nullptr;
  fiber.stack_pointer = top;
  fiber.state = FiberState::ready;
}

void Fibers::resume(int index) {
  plait_emulator_switch_stack(&scheduler, fibers[index].stack_pointer);
}
void Fibers::pause(int index) {
  plait_emulator_switch_stack(&fibers[index].stack_pointer, scheduler);
}

}  // namespace emulator
