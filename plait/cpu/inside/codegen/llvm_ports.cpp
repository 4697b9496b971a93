// Transfer of elements from arrays into vectors, and back.
#include "plait/cpu/inside/codegen/llvm_nest.h"

namespace plait::cpu::code {
namespace {

Code lanes() { return index(emission().lanes); }
Code lesser(Code a, Code b) { return select(less(a, b, true), a, b); }
Code larger(Code a, Code b) { return select(less(a, b, true), b, a); }

Code element(const Port& port, Code place) {
  return element_at(port.row, memory_type(port.dtype), place);
}
Code element_of_column(const Port& port, Code column) {
  return element(port, port.is_dense() ? column : multiply(column, port.stride));
}
Code in_buffer(const Port& port, Code lane) {
  return element_at(port.buffer, memory_type(port.dtype), lane);
}
Code bytes(const Port& port, Code count) { return multiply(count, index(size_of(port.dtype))); }
unsigned alignment(const Port& port) { return static_cast<unsigned>(size_of(port.dtype)); }

void copy_element(const Port& port, Code to, Code from) {
  const Type type = memory_type(port.dtype);
  store(load(type, from, alignment(port)), to, alignment(port));
}

// Copies the columns [begin, end) to their lanes in the buffer, or back.
void gather(const Port& port, const Step& step, Code begin, Code end) {
  loop(begin, end, 1, [&](Code column) {
    copy_element(port, in_buffer(port, subtract(column, step.column)),
                 element_of_column(port, column));
  });
}
void scatter(const Port& port, const Step& step) {
  loop(step.column, add(step.column, lesser(step.left, lanes())), 1, [&](Code column) {
    copy_element(port, element_of_column(port, column),
                 in_buffer(port, subtract(column, step.column)));
  });
}

// Zeros, so that unused lanes do not hold arbitrary bits.
void clear(const Port& port, LLVMBuilderRef builder) {
  const Code none = zero(vector_of(memory_type(port.dtype)));
  LLVMSetAlignment(LLVMBuildStore(builder, none, port.buffer),
                   emission().lanes == 1 ? alignment(port) : 64);
}

// True if the level has masked loads and stores for this element size.
bool may_be_masked(const Port& port) {
  const CpuLevel level = emission().level;
  return level >= CpuLevel::avx512 || (level == CpuLevel::avx2 && size_of(port.dtype) >= 4);
}

// Copies the last columns to the buffer, or back.
void pull_last(const Port& port, const Step& step) {
  if (!may_be_masked(port)) {
    clear(port, emission().builder);
    return copy_bytes(port.buffer, element(port, step.column), bytes(port, step.left));
  }
  const Type type = vector_of(memory_type(port.dtype));
  store(load_some(type, element(port, step.column), alignment(port), left_lanes(step)), port.buffer,
        64);
}
void push_last(const Port& port, const Step& step) {
  if (!may_be_masked(port)) {
    return copy_bytes(element(port, step.column), port.buffer, bytes(port, step.left));
  }
  const Type type = vector_of(memory_type(port.dtype));
  store_some(load(type, port.buffer, 64), element(port, step.column), alignment(port),
             left_lanes(step));
}

void fill(const Port& port) {
  store(splat(port.fill), port.buffer, emission().lanes == 1 ? alignment(port) : 64);
}

// For arrays in which some columns are out of range.
void pull_there(Port& port, const Step& step) {
  const Code end = add(step.column, lanes());
  const Code is_there =
      bit_and(less_equal(port.low, step.column, true), less_equal(end, port.high, true));
  const auto some = [&] {
    fill(port);
    const Code begin = larger(step.column, port.low), stop = lesser(end, port.high);
    if (!port.is_dense()) return gather(port, step, begin, stop);
    when(less(begin, stop, true), false, [&] {
      copy_bytes(in_buffer(port, subtract(begin, step.column)), element(port, begin),
                 bytes(port, subtract(stop, begin)));
    });
  };
  if (port.is_dense()) {
    when(bit_not(is_there), false, some);
    port.pointer = select(is_there, element(port, step.column), port.buffer);
  } else {
    some();
    port.pointer = port.buffer;
  }
}

void pull_single(Port& port, const Step& step) {
  const Code place = element_of_column(port, step.column);
  port.pointer = place;
  if (port.low == nullptr) return;
  const Code is_there =
      bit_and(less_equal(port.low, step.column, true), less(step.column, port.high, true));
  fill(port);
  port.pointer = select(is_there, place, port.buffer);
}

}  // namespace

Code left_lanes(const Step& step) {
  const Type word = integer_type(32);
  return less(ascending(word, 1), splat(resized(step.left, word, true)), true);
}

void make_buffer(Port& port) {
  port.buffer = variable(vector_of(memory_type(port.dtype)));
  if (port.is_dense() || !port.is_read || port.low != nullptr) return;
  clear(port, emission().entry_builder);
}

void pull(std::vector<Port>& ports, const Step& step) {
  if (emission().lanes == 1) {
    for (Port& port : ports) pull_single(port, step);
    return;
  }
  if (step.is_full != nullptr) {
    when(bit_not(step.is_full), true, [&] {
      for (const Port& port : ports) {
        if (port.low != nullptr || !port.is_dense() || !port.is_read) continue;
        pull_last(port, step);
      }
    });
  }
  for (Port& port : ports) {
    if (port.low != nullptr) {
      pull_there(port, step);
    } else if (!port.is_dense()) {
      if (port.is_read)
        gather(port, step, step.column, add(step.column, lesser(step.left, lanes())));
      port.pointer = port.buffer;
    } else {
      const Code place = element(port, step.column);
      port.pointer = step.is_full == nullptr ? place : select(step.is_full, place, port.buffer);
    }
  }
}

void push(std::vector<Port>& ports, const Step& step) {
  if (emission().lanes == 1) return;
  for (const Port& port : ports) {
    if (!port.is_dense()) scatter(port, step);
  }
  if (step.is_full == nullptr) return;
  when(bit_not(step.is_full), true, [&] {
    for (const Port& port : ports) {
      if (port.is_dense()) push_last(port, step);
    }
  });
}

}  // namespace plait::cpu::code
