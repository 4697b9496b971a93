// The binary form of a function's parts, for programs in files and for content hashes: one walk for
// both.
#pragma once

#include <functional>

#include "plait/ir/bytes.h"
#include "plait/ir/function.h"

namespace plait::ir {

struct BodyOptions {
  // Labels of values and locations. Sizes keep the names that ByteWriter::rename_size gives them.
  bool names = true;
  // Writes what stands for a callee's name; null writes the name. The sizes it is given always
  // follow.
  std::function<void(ByteWriter& writer, const Callee& callee)> write_callee;
};

// The content of a function is its signature and its body; neither holds the function's own name.
void write_signature(ByteWriter& writer, const Function& function, const BodyOptions& options = {});
void write_body(ByteWriter& writer, const Function& function, const BodyOptions& options = {});

// A record's parameters, held sizes and fields, without its own name.
void write_record(ByteWriter& writer, const RecordType& record);

}  // namespace plait::ir
