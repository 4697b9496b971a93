// A token beside those that a model was trained with.
#pragma once

#include <string>

namespace plait::text {

struct AddedToken {
  std::string content;
  bool single_word = false;  // is not found within words
  bool lstrip = false;       // takes the spaces before it
  bool rstrip = false;       // and after it
  bool normalized = true;    // is normalized, and found in the normalized text
  bool special = false;      // is left out by decode

  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

}  // namespace plait::text
