// Tables whose rows are found by the names of primitives: a row under another name would never be
// found, and the operation would be computed elsewhere, without an error.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

namespace plait {

// CompileError if no primitive has this name. Registers all primitives.
void expect_primitive(std::string_view name, std::string_view table);

// The table, after a check of the key of each row. Called when the table is made.
template <class Table, class Key>
Table&& with_primitive_keys(Table&& table, Key key, std::string_view title) {
  for (const auto& row : table) expect_primitive(std::invoke(key, row), title);
  return std::forward<Table>(table);
}

}  // namespace plait
