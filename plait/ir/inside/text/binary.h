// The binary form of the parts of a function, used for files and for content hashes.
#pragma once

#include <functional>

#include "plait/ir/bytes.h"
#include "plait/ir/function.h"

namespace plait::ir {

struct BodyOptions {
  // Include labels of values and locations. Sizes have the names that ByteWriter::rename_size
  // returns.
  bool names = true;
  // Writes a substitute for a callee's name; if null, the name is written. Its size arguments
  // always follow.
  std::function<void(ByteWriter& writer, const Callee& callee)> write_callee;
};

// The content of a function is its signature and its body; neither contains the function's own
// name.
void write_signature(ByteWriter& writer, const Function& function, const BodyOptions& options = {});
void write_body(ByteWriter& writer, const Function& function, const BodyOptions& options = {});

// A record's parameters, held sizes and fields, without its name.
void write_record(ByteWriter& writer, const RecordType& record);

}  // namespace plait::ir
